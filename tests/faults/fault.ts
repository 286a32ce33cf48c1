import type { LineState } from './network/relay.ts';

/** A write at which a process kills itself. */
export interface CrashStep {
  readonly process: string;
  /** Format: services/kit/process/src/testing/crash-points.ts. */
  readonly at: string;
}

/** One fault. Times in milliseconds. */
export type Fault =
  /** SIGKILL. `againAfterMs`: a second SIGKILL this long after the restart, whether the process is ready or not. */
  | { readonly kind: 'kill'; readonly process: string; readonly againAfterMs?: number }
  /** The process kills itself at each step. Steps of the same process run one after the other. */
  | { readonly kind: 'crash'; readonly steps: readonly CrashStep[] }
  /** SIGSTOP for longer than the leases, then SIGCONT. */
  | { readonly kind: 'freeze'; readonly process: string; readonly forMs: number }
  /** SIGKILL of MongoDB, Kafka or S3, and a restart after `awayMs`. */
  | { readonly kind: 'backing'; readonly server: 'mongo' | 'kafka' | 's3'; readonly awayMs: number }
  /** SIGKILL of a headset process. */
  | { readonly kind: 'headsets'; readonly process: string }
  /** Network faults on lines between two programs (network/relay.ts). */
  | {
      readonly kind: 'line';
      readonly lines: readonly string[];
      readonly state: LineState;
      readonly forMs: number;
    }
  /** A process's wall clock is wrong for `forMs`. `killed`: the process is killed while its clock is wrong. */
  | {
      readonly kind: 'clock';
      readonly process: string;
      readonly stepMs: number;
      readonly forMs: number;
      readonly killed: boolean;
    }
  /** The clocks of all headsets of a process are wrong. */
  | { readonly kind: 'skew'; readonly process: string; readonly stepMs: number; readonly forMs: number }
  /** The headsets of a process are offline, for days by their clocks, and then reconnect. */
  | { readonly kind: 'absence'; readonly process: string; readonly stepMs: number; readonly forMs: number }
  /** A rolling restart: SIGTERM to one process after the other, each when the previous process is ready again. */
  | { readonly kind: 'terminate'; readonly processes: readonly string[] }
  /** Additional consumers join and leave a consumer group without handling events. */
  | { readonly kind: 'storm'; readonly group: string; readonly topic: string; readonly forMs: number }
  /** Invalid events in each topic. */
  | { readonly kind: 'poison'; readonly topics: readonly string[] }
  /** An integrator's server fails every callback while its headsets send many reports. */
  | { readonly kind: 'backlog'; readonly tenant: number; readonly reports: number; readonly forMs: number };

export interface Round {
  readonly fault: Fault;
  /** A second fault at the same time. */
  readonly beside?: Fault;
  /** Duration of the load without a fault after it. */
  readonly restMs: number;
}

/** Short description of a round. */
export function describeRound({ fault, beside }: Round): string {
  return beside ? `${describeFault(fault)}, together with ${describeFault(beside)}` : describeFault(fault);
}

function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'crash':
      return `crash ${fault.steps.map(({ at }) => at).join(' and ')}`;
    case 'kill':
      return `kill -9 ${fault.process}${fault.againAfterMs ? ', again during its restart' : ''}`;
    case 'freeze':
      return `${fault.process} frozen for ${fault.forMs} ms`;
    case 'backing':
      return `kill -9 ${fault.server}, unavailable for ${fault.awayMs} ms`;
    case 'headsets':
      return `kill -9 ${fault.process}`;
    case 'line':
      return `${fault.lines.join(' and ')} ${stateOf(fault.state)} for ${fault.forMs} ms`;
    case 'clock':
      return `${fault.process}: clock ${hours(fault.stepMs)} for ${fault.forMs} ms${fault.killed ? ', killed during this' : ''}`;
    case 'skew':
      return `${fault.process}: headsets' clocks ${hours(fault.stepMs)} for ${fault.forMs} ms`;
    case 'absence':
      return `${fault.process}: headsets offline for ${-fault.stepMs / 3_600_000} h, in ${fault.forMs} ms`;
    case 'terminate':
      return `SIGTERM ${fault.processes.join(', then ')}`;
    case 'storm':
      return `additional consumers in ${fault.group}.${fault.topic} for ${fault.forMs} ms`;
    case 'poison':
      return `invalid events in ${fault.topics.join(', ')}`;
    case 'backlog':
      return `integrator ${fault.tenant + 1} fails for ${fault.forMs} ms, up to ${fault.reports} reports`;
  }
}

function stateOf(state: LineState): string {
  return state.kind === 'delayed' ? `delayed by ${state.ms} ms` : state.kind;
}

function hours(ms: number): string {
  return `${ms > 0 ? '+' : '-'}${Math.abs(ms) / 3_600_000} h`;
}

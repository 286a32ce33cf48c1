import { createRandom, type Random } from './random.ts';

/** A named step at which a process kills itself when it reaches it for the `count`-th time. */
export interface FailpointStep {
  readonly process: string;
  readonly name: string;
  readonly count: number;
}

/** One round's fault. Times in milliseconds. */
export type Fault =
  /** kill -9; `againAfterMs`: once more so long after it was started again, ready or not. */
  | { readonly kind: 'kill'; readonly process: string; readonly againAfterMs?: number }
  /** Kills itself at each step; steps of one process one after the other. */
  | { readonly kind: 'failpoint'; readonly steps: readonly FailpointStep[] }
  /** SIGSTOP for longer than the leases, then SIGCONT. */
  | { readonly kind: 'freeze'; readonly process: string; readonly forMs: number }
  /** kill -9 of MongoDB, Kafka or S3, and back after a moment. */
  | { readonly kind: 'backing'; readonly server: 'mongo' | 'kafka' | 's3'; readonly awayMs: number }
  /** kill -9 of a process of headsets. */
  | { readonly kind: 'headsets'; readonly process: string };

export interface Round {
  readonly fault: Fault;
  /** Load without a fault after it. */
  readonly restMs: number;
}

/** What there is to break. */
export interface Targets {
  readonly processes: readonly string[];
  readonly headsets: readonly string[];
  /** Every failpoint with the process that knows it; `rare`: the load comes there only now and then. */
  readonly failpoints: readonly { readonly process: string; readonly name: string; readonly rare: boolean }[];
  readonly backing: readonly ('mongo' | 'kafka' | 's3')[];
  /** Longest lease of the platform's configuration. */
  readonly leaseMs: number;
}

/** Failpoint rounds take this share of all. */
const failpointShare = 0.55;
/** So many rounds reach every failpoint, whatever their number; each failpoint round has as many steps as that takes. */
export const roundsForAll = 20;

/**
 * The rounds of a seed: pure, so that a seed replays them. Failpoints come in turn, each once before
 * any comes again; the other kinds are dealt evenly.
 */
export function planRounds(seed: number, count: number, targets: Targets): Round[] {
  const random = createRandom(seed, 'schedule');
  const kinds = dealKinds(random, count, targets);
  const failpoints = turns(random, targets.failpoints);
  const processes = turns(random, targets.processes);
  const headsets = turns(random, targets.headsets);
  const backing = turns(random, targets.backing);
  const perRound = Math.ceil(targets.failpoints.length / failpointRounds(roundsForAll));
  const steps = (): FailpointStep[] =>
    Array.from({ length: perRound }, failpoints).map(({ rare, ...f }) => ({
      ...f,
      count: rare ? 1 : random.between(1, 3),
    }));
  const fault = (kind: Fault['kind']): Fault => {
    switch (kind) {
      case 'failpoint':
        return { kind, steps: steps() };
      case 'kill':
        return {
          kind,
          process: processes(),
          ...(random.chance(0.3) && { againAfterMs: random.between(50, 900) }),
        };
      case 'freeze':
        return { kind, process: processes(), forMs: targets.leaseMs + random.between(300, 1200) };
      case 'backing':
        return { kind, server: backing(), awayMs: random.between(300, 2000) };
      case 'headsets':
        return { kind, process: headsets() };
    }
  };
  return kinds.map((kind) => ({ fault: fault(kind), restMs: random.between(200, 900) }));
}

function failpointRounds(count: number): number {
  return Math.ceil(count * failpointShare);
}

/** How many of each kind, in a seeded order. */
function dealKinds(random: Random, count: number, targets: Targets): Fault['kind'][] {
  const others: Fault['kind'][] = ['kill', 'headsets', 'freeze'];
  if (targets.backing.length > 0) others.push('backing', 'backing', 'kill');
  const kinds: Fault['kind'][] = Array.from({ length: failpointRounds(count) }, () => 'failpoint');
  for (let i = 0; kinds.length < count; i++) kinds.push(others[i % others.length] as Fault['kind']);
  return random.shuffled(kinds);
}

/** Answers the members in a seeded order, each once before any comes again. */
function turns<T>(random: Random, members: readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = random.shuffled(members);
    const next = left.pop();
    if (next === undefined) throw new Error('nothing of this kind to break');
    return next;
  };
}

/** A round in a few words. */
export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'failpoint':
      return `dies at ${fault.steps.map((s) => `${s.name}=${s.count}`).join(' and ')}`;
    case 'kill':
      return `kill -9 ${fault.process}${fault.againAfterMs ? ', again while it starts' : ''}`;
    case 'freeze':
      return `${fault.process} frozen for ${fault.forMs} ms`;
    case 'backing':
      return `kill -9 ${fault.server}, away for ${fault.awayMs} ms`;
    case 'headsets':
      return `kill -9 ${fault.process}`;
  }
}

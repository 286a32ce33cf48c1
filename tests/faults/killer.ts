import { setTimeout as delay } from 'node:timers/promises';
import { kafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import type { CrashStep, Fault, Round } from './fault.ts';
import { causeBacklog, simulateAbsence, skew } from './injections/headset-reports.ts';
import { type Poison, poison } from './injections/poison.ts';
import { storm } from './injections/storm.ts';
import { crashingAt } from './inside/environment.ts';
import type { World } from './world.ts';

/** Maximum wait for a write after the platform is ready; milliseconds. */
const reachMs = 12_000;

/** Maximum wait for a write, including the time until the platform is ready; milliseconds. */
const longestMs = 90_000;

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Record of injected faults, for the summary and the checks. */
export interface Tally {
  /** Faults by kind. */
  readonly faults: Map<string, number>;
  /** Writes at which a process died. */
  readonly crashes: string[];
  /** Writes that did not happen in time. */
  readonly missed: string[];
  /** Periods in which MongoDB, Kafka or S3 was unavailable; `process`: only for this process. */
  readonly outages: (Window & { readonly server: string; readonly process?: string })[];
  /** Periods in which a process was frozen. */
  readonly freezes: (Window & { readonly process: string })[];
  /** Periods in which the clock of a process or its headsets was wrong. */
  readonly clocks: (Window & { readonly process: string })[];
  /** Periods of rolling restarts without any other fault. */
  readonly restarts: Window[];
  readonly poison: Poison[];
  /** Periods in which an integrator's server failed every callback. */
  readonly backlogs: (Window & { readonly applicationId: string })[];
}

/** Injects the faults of a round. Resolves after the faults, with notes for the summary. */
export function createKiller(world: World, ready: () => Promise<unknown>) {
  const { supervisor, network, clocks } = world;
  const { backing } = world.stack;
  const brokers = backing?.kafkaBrokers ?? '';
  const names = kafkaNames(backing?.kafkaPrefix);
  const tally: Tally = {
    ...{ faults: new Map(), crashes: [], missed: [], outages: [], freezes: [], clocks: [] },
    ...{ restarts: [], poison: [], backlogs: [] },
  };
  const count = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);

  /** Runs all steps of one process: each start of the process gets the next step. */
  const runSteps = async (name: string, steps: readonly CrashStep[]): Promise<string[]> => {
    const notes: string[] = [];
    supervisor.prepare(
      name,
      steps.map(({ at }) => crashingAt(at)),
    );
    await supervisor.kill(name);
    for (const { at } of steps) {
      const before = supervisor.deathsOf(name);
      try {
        const died = supervisor.died(name, before + 1, longestMs);
        await Promise.race([died, ready().then(() => supervisor.died(name, before + 1, reachMs))]);
        await died;
        tally.crashes.push(at);
      } catch {
        tally.missed.push(at);
        notes.push(`not ${at}: kill -9`);
        await supervisor.kill(name);
      }
    }
    supervisor.forget(name);
    return notes;
  };

  const inject = async (fault: Fault): Promise<string[]> => {
    count(tally.faults, fault.kind);
    const fromMs = Date.now();
    const window = () => ({ fromMs, toMs: Date.now() });
    switch (fault.kind) {
      case 'crash': {
        const byProcess = Map.groupBy(fault.steps, (s) => s.process);
        return (await Promise.all([...byProcess].map(([name, steps]) => runSteps(name, steps)))).flat();
      }
      case 'kill':
        await supervisor.kill(fault.process);
        if (fault.againAfterMs) {
          await delay(fault.againAfterMs);
          await supervisor.kill(fault.process);
        }
        return [];
      case 'headsets':
        await supervisor.kill(fault.process);
        return [];
      case 'freeze': {
        const frozen = supervisor.process(fault.process);
        frozen.signal('SIGSTOP');
        await delay(fault.forMs);
        frozen.signal('SIGCONT');
        tally.freezes.push({ process: fault.process, ...window() });
        return [];
      }
      case 'backing': {
        const server = backing?.[fault.server];
        if (!server) return [`${fault.server} was not started by this test and is left running`];
        await server.kill();
        await delay(fault.awayMs);
        await server.restart();
        tally.outages.push({ server: fault.server, ...window() });
        return [];
      }
      case 'line':
        for (const name of fault.lines) network.lines.get(name)?.set(fault.state);
        await delay(fault.forMs);
        for (const name of fault.lines) {
          network.lines.get(name)?.set({ kind: 'open' });
          const [process = '', server = ''] = name.split('>');
          tally.outages.push({ server, process, ...window() });
        }
        return [];
      case 'clock': {
        clocks.set(fault.process, fault.stepMs);
        await delay(fault.forMs);
        if (fault.killed) await supervisor.kill(fault.process);
        clocks.set(fault.process, 0);
        tally.clocks.push({ process: fault.process, ...window() });
        return [];
      }
      case 'skew':
      case 'absence': {
        const headsets = world.headsets.find((h) => h.process.name === fault.process);
        if (!headsets) return [];
        if (fault.kind === 'absence') await simulateAbsence(world, headsets, fault);
        else {
          await skew(headsets, fault.stepMs);
          await delay(fault.forMs);
          await skew(headsets, 0);
        }
        tally.clocks.push({ process: fault.process, ...window() });
        return [];
      }
      case 'terminate':
        for (const name of fault.processes) {
          await supervisor.terminate(name);
          await ready();
        }
        tally.restarts.push(window());
        return [];
      case 'storm':
        return storm(brokers, names, fault);
      case 'poison':
        tally.poison.push(...(await poison(brokers, names, fault.topics)));
        return [];
      case 'backlog':
        tally.backlogs.push({ ...(await causeBacklog(world, fault)), ...window() });
        return [];
    }
  };
  return {
    tally,
    async inject({ fault, beside }: Round): Promise<string[]> {
      return (await Promise.all([inject(fault), ...(beside ? [inject(beside)] : [])])).flat();
    },
  };
}

export type Killer = ReturnType<typeof createKiller>;

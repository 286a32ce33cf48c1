import { setTimeout as delay } from 'node:timers/promises';
import type { Backing } from '../support/stack/backing.ts';
import type { FailpointStep, Fault } from './schedule.ts';
import type { Supervisor } from './supervisor.ts';

/** How long a failpoint may take to be reached by a platform that is ready. */
const reachMs = 12_000;

/** And with the time that it takes to become ready. */
const longestMs = 90_000;

/** What the rounds did, for the summary. */
export interface Tally {
  /** Faults by kind. */
  readonly faults: Map<string, number>;
  /** Failpoints at which a process died, with how often. */
  readonly reached: Map<string, number>;
  /** Failpoints that were armed and not reached in time. */
  readonly unreached: string[];
  /** When MongoDB, Kafka or S3 was away. */
  readonly outages: { readonly server: string; readonly fromMs: number; readonly toMs: number }[];
  /** When a process slept. */
  readonly freezes: { readonly process: string; readonly fromMs: number; readonly toMs: number }[];
}

/** Makes one fault happen; resolves when it really has, with what there is to note. */
export function createKiller(
  supervisor: Supervisor,
  backing: Backing | undefined,
  ready: () => Promise<unknown>,
) {
  const tally: Tally = { faults: new Map(), reached: new Map(), unreached: [], outages: [], freezes: [] };
  const count = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);

  /** All steps of one process, one after the other: each start is armed with the next. */
  const runSteps = async (name: string, steps: readonly FailpointStep[]): Promise<string[]> => {
    const notes: string[] = [];
    supervisor.prepare(
      name,
      steps.map((s) => ({ FAILPOINTS: `${s.name}=${s.count}` })),
    );
    await supervisor.kill(name);
    for (const step of steps) {
      const before = supervisor.deathsOf(name);
      try {
        const died = supervisor.died(name, before + 1, longestMs);
        await Promise.race([died, ready().then(() => supervisor.died(name, before + 1, reachMs))]);
        await died;
        count(tally.reached, step.name);
      } catch {
        tally.unreached.push(step.name);
        notes.push(`${step.name} not reached: kill -9`);
        await supervisor.kill(name);
      }
    }
    supervisor.forget(name);
    return notes;
  };

  const inject = async (fault: Fault): Promise<string[]> => {
    count(tally.faults, fault.kind);
    switch (fault.kind) {
      case 'failpoint': {
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
        const fromMs = Date.now();
        frozen.signal('SIGSTOP');
        await delay(fault.forMs);
        frozen.signal('SIGCONT');
        tally.freezes.push({ process: fault.process, fromMs, toMs: Date.now() });
        return [];
      }
      case 'backing': {
        const server = backing?.[fault.server];
        if (!server) return [`${fault.server} was not started here: left alone`];
        const fromMs = Date.now();
        await server.kill();
        await delay(fault.awayMs);
        await server.restart();
        tally.outages.push({ server: fault.server, fromMs, toMs: Date.now() });
        return [];
      }
    }
  };
  return { tally, inject };
}

export type Killer = ReturnType<typeof createKiller>;

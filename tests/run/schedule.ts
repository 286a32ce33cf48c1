import type { Outcome, Step } from './step.ts';

/** Ports on which the servers of each lane listen: a restarted server finds its port free. */
export const laneEnvironments = [{ TEST_PORTS: '15000-22499' }, { TEST_PORTS: '22500-29999' }] as const;

/** Runs one step. */
export type Execute = (step: Step, env: Readonly<Record<string, string>>) => Promise<Outcome>;

/**
 * Runs the steps in two lanes. Each lane takes the next step of the list that may start. Steps that run alone come
 * last, one after the other.
 */
export async function runAll(steps: readonly Step[], execute: Execute): Promise<Outcome[]> {
  const waiting = steps.filter(({ alone }) => !alone);
  const ended = new Map<string, Promise<unknown>>();
  const unfinished = new Set(waiting.map(({ name }) => name));
  const outcomes: Outcome[] = [];
  const lane = async (env: Readonly<Record<string, string>>): Promise<void> => {
    while (waiting.length > 0) {
      const next = waiting.findIndex(({ after }) => after === undefined || !unfinished.has(after));
      if (next < 0) {
        // Everything that is left waits for a step of the other lane.
        await Promise.race(ended.values());
        continue;
      }
      const [step] = waiting.splice(next, 1) as [Step];
      const run = execute(step, env).then((outcome) => outcomes.push(outcome));
      ended.set(step.name, run);
      await run;
      ended.delete(step.name);
      unfinished.delete(step.name);
    }
  };
  await Promise.all(laneEnvironments.map(lane));
  for (const step of steps.filter(({ alone }) => alone))
    outcomes.push(await execute(step, laneEnvironments[0]));
  return outcomes;
}

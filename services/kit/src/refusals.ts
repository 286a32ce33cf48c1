import type { Counter } from 'prom-client';
import { createGatheredLog, type Fields } from './gathered-log.ts';

/** Tells that a listener has refused somebody. `who`: what is known of them, for the log. */
export type Refusals<Reason extends string> = (reason: Reason, who: Fields) => void;

/**
 * Counts the refusals of a listener, each by its reason, and logs them gathered, one kind a reason. `write` gets the
 * fields of a line.
 */
export function createRefusals<const Reason extends string>(
  counter: Counter<'reason'>,
  reasons: readonly Reason[],
  write: (fields: Fields) => void,
): Refusals<Reason> {
  // A rate needs a value before the first refusal.
  for (const reason of reasons) counter.inc({ reason }, 0);
  const tell = createGatheredLog(write);
  return (reason, who) => {
    counter.inc({ reason });
    tell({ reason }, who);
  };
}

import type { Counter } from 'prom-client';
import { createGatheredLog, type Fields } from './gathered-log.ts';

/** Counts and logs that a listener rejected a caller. `who`: log fields that identify the caller. */
export type Refusals<Reason extends string> = (reason: Reason, who: Fields) => void;

/**
 * Creates a function that counts the rejections of a listener by reason, and logs them rate-limited, one kind of line
 * per reason. `write` gets the fields of a line.
 */
export function createRefusals<const Reason extends string>(
  counter: Counter<'reason'>,
  reasons: readonly Reason[],
  write: (fields: Fields) => void,
): Refusals<Reason> {
  // Starts each counter at 0, because `rate()` in Prometheus ignores the first value of a counter.
  for (const reason of reasons) counter.inc({ reason }, 0);
  const log = createGatheredLog(write);
  return (reason, who) => {
    counter.inc({ reason });
    log({ reason }, who);
  };
}

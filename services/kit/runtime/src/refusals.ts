import type { Counter } from 'prom-client';
import { createGatheredLog, type Fields } from './gathered-log.ts';

/** Reports that a listener rejected a caller. `who`: fields that identify the caller, for the log. */
export type Refusals<Reason extends string> = (reason: Reason, who: Fields) => void;

/**
 * Counts the rejections of a listener by reason, and logs them in a rate-limited log, one kind per reason. `write` gets
 * the fields of a line.
 */
export function createRefusals<const Reason extends string>(
  counter: Counter<'reason'>,
  reasons: readonly Reason[],
  write: (fields: Fields) => void,
): Refusals<Reason> {
  // A rate needs a value before the first rejection.
  for (const reason of reasons) counter.inc({ reason }, 0);
  const log = createGatheredLog(write);
  return (reason, who) => {
    counter.inc({ reason });
    log({ reason }, who);
  };
}

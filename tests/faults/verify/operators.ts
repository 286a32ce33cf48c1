import type { Evidence } from '../evidence.ts';
import type { Check } from './check.ts';

const hourMs = 3_600_000;
/** Minimum attempts and minimum age before a callback is given up (rule B10). */
const least = { attempts: 10, ageMs: 72 * hourMs };
const hardEndMs = 96 * hourMs;
/** A 410 gives up the callback at once. */
const gone = /\b410\b/;

/** Checks for operators: given-up callbacks, dead letters, server errors and exits of processes. */
export function verifyOperators(evidence: Evidence): Check[] {
  return [
    {
      name: 'no callback is given up too early (before 72 h and 10 attempts, or 96 h)',
      violations: givenUp(evidence),
    },
    {
      name: 'the operators’ history has every callback that arrived',
      violations: evidence.unknownCallbacks,
    },
    { name: 'only invalid events become dead letters', violations: deadLetters(evidence) },
    {
      name: 'each invalid event becomes a dead letter of every group that reads it',
      violations: poisonFound(evidence),
    },
    { name: 'SIGTERM shuts a process down gracefully', violations: shutsDownGracefully(evidence) },
    { name: 'every response with status 500 or above has Retry-After', violations: retryAfter(evidence) },
    { name: 'a rolling restart causes no server error other than 503', violations: only503(evidence) },
    { name: 'no process exits without a fault', violations: evidence.unexpectedExits },
  ];
}

function givenUp({ deadDeliveries }: Evidence): string[] {
  return deadDeliveries
    .filter(({ lastOutcome }) => !gone.test(lastOutcome))
    .filter(({ attempts, ageMs }) => ageMs < hardEndMs && (attempts < least.attempts || ageMs < least.ageMs))
    .map(
      (d) =>
        `${d.notificationId}: dead after ${d.attempts} attempts and ${(d.ageMs / hourMs).toFixed(1)} h (${d.lastOutcome})`,
    );
}

function deadLetters({ deadLetters, poison }: Evidence): string[] {
  const put = new Set(poison.map((p) => p.position));
  return deadLetters
    .filter(({ position }) => !put.has(position))
    .map(({ position, group, error }) => `${position} by ${group}: ${error}`);
}

function poisonFound({ deadLetters, poison }: Evidence): string[] {
  const found = new Set(deadLetters.map(({ position, group }) => `${position} ${group}`));
  return poison.flatMap(({ position, groups }) =>
    groups
      .filter((group) => !found.has(`${position} ${group}`))
      .map((group) => `${position} is not a dead letter of ${group}`),
  );
}

function shutsDownGracefully({ terminations }: Evidence): string[] {
  return terminations
    .filter(({ how }) => how !== '0')
    .map(({ process, how, tookMs }) => `${process} ended with ${how}, ${tookMs} ms after SIGTERM`);
}

const describe = ({ kind, status, atMs, message, requestId }: Evidence['serverErrors'][number]) =>
  `${kind}: ${status} ${message} at ${new Date(atMs).toISOString()} (request ${requestId})`;

function retryAfter({ serverErrors }: Evidence): string[] {
  return serverErrors.filter((e) => !/^[1-9]\d*$/.test(e.retryAfter)).map(describe);
}

function only503({ serverErrors, restarts }: Evidence): string[] {
  return serverErrors
    .filter((e) => e.status !== 503 && restarts.some((r) => e.atMs >= r.fromMs && e.atMs <= r.toMs))
    .map(describe);
}

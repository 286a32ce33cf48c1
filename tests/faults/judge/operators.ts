import type { Evidence } from '../evidence.ts';
import type { Check } from './check.ts';

const hourMs = 3_600_000;
/** The least that a callback gets before it is given up, and the most (rule B10). */
const least = { attempts: 10, ageMs: 72 * hourMs };
const hardEndMs = 96 * hourMs;
/** A destination that says 410 wants no more. */
const gone = /\b410\b/;

/** What operators see: nothing is given up too early, nothing is set aside but poison, processes go in good order. */
export function judgeOperators(evidence: Evidence): Check[] {
  return [
    { name: 'a callback is given up after 72 h and 10 attempts only', violations: givenUp(evidence) },
    { name: 'no event is set aside but what is none', violations: setAside(evidence) },
    { name: 'each event that is none is set aside by each reader', violations: poisonFound(evidence) },
    { name: 'SIGTERM ends a process in good order', violations: wentInOrder(evidence) },
    { name: 'every answer from 500 on says when to try again', violations: retryAfter(evidence) },
    { name: 'a rolling restart shows nothing from 500 on but 503', violations: only503(evidence) },
    { name: 'no process ends by itself', violations: evidence.ownDeaths },
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

function setAside({ setAside, poison }: Evidence): string[] {
  const put = new Set(poison.map((p) => p.position));
  return setAside
    .filter(({ position }) => !put.has(position))
    .map(({ position, group, error }) => `${position} by ${group}: ${error}`);
}

function poisonFound({ setAside, poison }: Evidence): string[] {
  const found = new Set(setAside.map(({ position, group }) => `${position} ${group}`));
  return poison.flatMap(({ position, groups }) =>
    groups
      .filter((group) => !found.has(`${position} ${group}`))
      .map((group) => `${position} was not set aside by ${group}`),
  );
}

function wentInOrder({ terminations }: Evidence): string[] {
  return terminations
    .filter(({ how }) => how !== '0')
    .map(({ process, how, tookMs }) => `${process} ended with ${how}, ${tookMs} ms after SIGTERM`);
}

const describe = ({ kind, status, atMs, message }: Evidence['serverErrors'][number]) =>
  `${kind}: ${status} ${message} at ${new Date(atMs).toISOString()}`;

function retryAfter({ serverErrors }: Evidence): string[] {
  return serverErrors.filter((e) => !/^[1-9]\d*$/.test(e.retryAfter)).map(describe);
}

function only503({ serverErrors, restarts }: Evidence): string[] {
  return serverErrors
    .filter((e) => e.status !== 503 && restarts.some((r) => e.atMs >= r.fromMs && e.atMs <= r.toMs))
    .map(describe);
}

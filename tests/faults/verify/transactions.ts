import type { CallRecord, Evidence, ListedTransaction } from '../evidence.ts';
import { Activations } from './activations.ts';
import { add, type Check, repeated } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';
import {
  canceledByRequest,
  isCanceled,
  isCanceledByDeactivation,
  isOperation,
  isSuccess,
  operations,
  type Part,
  partOf,
} from './operations.ts';

/** The only permitted refusal: the device is deactivated at the time of the call. */
const notActivated = 'The device is not activated.';

const places: Record<Part, number> = { accepted: 0, step: 1, end: 2, answer: 3 };

/** Each call has one transaction, with one end, ordered callbacks and one effect, or no effect if it was canceled. */
export function verifyTransactions(c: IndexedEvidence): Check[] {
  const { evidence } = c;
  return [
    {
      name: 'every call is answered, and none is refused without a valid reason',
      violations: everyCallAnswered(c),
    },
    { name: 'every transaction of a 201 response exists', violations: everyTransactionExists(c) },
    { name: 'every transaction has an end state', violations: everyTransactionEnded(c) },
    { name: 'every transaction has one end callback, which agrees with its state', violations: oneEnd(c) },
    { name: 'every callback is signed', violations: everySigned(evidence) },
    { name: 'every callback names its transaction’s device and operation', violations: rightSubject(c) },
    {
      name: 'callbacks first arrive in the order accepted, progress, end, app answer',
      violations: inOrder(c),
    },
    { name: 'every app’s answer arrives', violations: everyAnswer(c) },
    { name: 'no transaction takes effect twice', violations: effectsOnce(evidence) },
    { name: 'every effect matches its transaction', violations: rightEffect(c) },
    { name: 'every successful transaction took effect', violations: everySuccessTookEffect(c) },
    { name: 'no transaction reported as canceled took effect', violations: noCanceledEffect(c) },
    {
      name: 'cancel responses name exactly the transactions that were canceled',
      violations: cancelAnswersExact(c),
    },
    { name: 'one Idempotency-Key makes one transaction', violations: oneKeyOneTransaction(c) },
  ];
}

function everyCallAnswered(c: IndexedEvidence): string[] {
  const { calls, alwaysActivated } = c.evidence;
  const stays = new Set(alwaysActivated);
  const activations = new Activations(c);
  const violations: string[] = [];
  for (const call of [...calls].sort((a, b) => a.order - b.order)) {
    activations.add(call);
    if (call.status >= 200 && call.status < 300) continue;
    const isNotActivated = call.status === 403 && call.message === notActivated;
    if (isNotActivated && isOfActivated(call) && !stays.has(call.deviceId)) continue;
    // All activations of the device were canceled (ADR 0063).
    if (isNotActivated && isFutile(call, activations)) continue;
    violations.push(`${call.kind} ${call.key}: ${call.status || 'no answer'} ${call.message ?? ''}`.trim());
  }
  return violations;
}

function isFutile({ kind, applicationId, deviceId }: CallRecord, activations: Activations): boolean {
  return kind === 'deactivate' && deviceId !== undefined && !activations.stand(applicationId, deviceId);
}

/** Whether the call needs an activation and does not change it. */
function isOfActivated(c: CallRecord): c is CallRecord & { deviceId: string } {
  return c.deviceId !== undefined && c.kind !== 'activate' && c.kind !== 'deactivate';
}

function everyTransactionExists({ evidence, byId }: IndexedEvidence): string[] {
  return evidence.calls.flatMap((c) => {
    if (c.transactionId === undefined) return [];
    const t = byId.get(c.transactionId);
    if (!t) return [`${c.transactionId} (${c.kind}, key ${c.key}) is not in the list`];
    const same =
      t.deviceId === c.deviceId && t.applicationId === c.applicationId && t.operationId === operationOf(c);
    return same ? [] : [`${c.transactionId} belongs to another call: ${JSON.stringify(t)}`];
  });
}

function everyTransactionEnded({ evidence }: IndexedEvidence): string[] {
  return evidence.transactions
    .filter((t) => t.transactionStatus !== 'processed' && t.transactionStatus !== 'canceled')
    .map((t) => `${t.transactionId} (${t.operationId}, device ${t.deviceId}) is ${t.transactionStatus}`);
}

function oneEnd({ evidence, byId, firsts, ends }: IndexedEvidence): string[] {
  const violations: string[] = [];
  for (const t of evidence.transactions) {
    const count = (firsts.get(t.transactionId) ?? []).filter((a) => partOf(a.body) === 'end').length;
    if (count !== 1)
      violations.push(`${t.transactionId} (${t.transactionStatus}) has ${count} end callbacks`);
    const end = ends.get(t.transactionId);
    if (!end) continue;
    if (isCanceled(end) !== (t.transactionStatus === 'canceled')) {
      violations.push(
        `${t.transactionId} is ${t.transactionStatus}, but its callback has the message ${end['message']}`,
      );
    }
  }
  for (const id of firsts.keys()) {
    if (!byId.has(id)) violations.push(`a callback is about ${id}, which is not in the list`);
  }
  return violations;
}

/** A callback that was signed with a wrong clock is rejected and sent again. */
function everySigned({ arrivals, wrongClocks }: Evidence): string[] {
  const excused = (atMs: number) => wrongClocks.some((c) => atMs >= c.fromMs && atMs <= c.toMs);
  return arrivals
    .filter((a) => !a.verified && !excused(a.atMs))
    .map((a) => `${a.webhookId || '(no id)'} has no valid signature`);
}

function rightSubject({ byId, firsts }: IndexedEvidence): string[] {
  return [...firsts].flatMap(([id, list]) => {
    const t = byId.get(id);
    const wrong = list.find(
      ({ body }) =>
        t &&
        !(
          body['deviceId'] === t.deviceId &&
          body['operationId'] === t.operationId &&
          body['applicationId'] === t.applicationId
        ),
    );
    return wrong ? [`${wrong.webhookId}: ${JSON.stringify(wrong.body)}`] : [];
  });
}

function inOrder({ firsts }: IndexedEvidence): string[] {
  const violations: string[] = [];
  for (const [id, list] of firsts) {
    const parts = list.map((a) => partOf(a.body));
    let last = -0.5;
    for (const part of parts) {
      const place = part === undefined ? -1 : places[part];
      if (place < last || (place === last && part !== 'step')) {
        violations.push(`${id}: ${parts.map((p) => p ?? 'unknown form').join(', ')}`);
        break;
      }
      last = place;
    }
  }
  return violations;
}

function everyAnswer({ evidence, ends, firsts }: IndexedEvidence): string[] {
  const answering = new Set(evidence.answeringDevices);
  return evidence.transactions.flatMap((t) => {
    const expected =
      t.operationId === operations.command &&
      t.transactionStatus === 'processed' &&
      answering.has(t.deviceId) &&
      isSuccess(ends.get(t.transactionId));
    if (!expected) return [];
    const answers = (firsts.get(t.transactionId) ?? []).filter((a) => partOf(a.body) === 'answer').length;
    return answers === 1 ? [] : [`${t.transactionId} has ${answers} app answers`];
  });
}

function effectsOnce({ effects }: Evidence): string[] {
  return repeated(effects.map((e) => e.transactionId)).map((id) => `${id} took effect more than once`);
}

function rightEffect({ evidence, byId }: IndexedEvidence): string[] {
  return evidence.effects.flatMap(({ transactionId, deviceId, operation }) => {
    const t = byId.get(transactionId);
    if (!t) return [`${transactionId} took effect on ${deviceId}, but is not in the list`];
    const own = t.deviceId === deviceId && t.operationId === operation;
    return own ? [] : [`${transactionId} took effect as ${operation} on ${deviceId}: ${JSON.stringify(t)}`];
  });
}

function everySuccessTookEffect({ evidence, ends, effects }: IndexedEvidence): string[] {
  const newestActivation = new Map<string, number>();
  for (const t of evidence.transactions) {
    if (t.operationId !== operations.activate) continue;
    newestActivation.set(t.deviceId, Math.max(t.transactionId, newestActivation.get(t.deviceId) ?? 0));
  }
  return evidence.transactions
    .filter((t) => isSuccess(ends.get(t.transactionId)) && !effects.has(t.transactionId))
    .filter(
      // A deactivation that a later activation has overtaken has no effect.
      (t) =>
        t.operationId !== operations.deactivate || t.transactionId > (newestActivation.get(t.deviceId) ?? 0),
    )
    .map((t) => `${t.transactionId} (${t.operationId}, device ${t.deviceId}) succeeded without an effect`);
}

/** A deactivation or a reset cancels transactions at once, even started ones (rule A11). */
function noCanceledEffect({ ends, effects }: IndexedEvidence): string[] {
  return [...ends]
    .filter(([id, end]) => isCanceled(end) && !isCanceledByDeactivation(end) && effects.has(id))
    .map(([id, end]) => `${id} took effect, and its callback has the message: ${end['message']}`);
}

function cancelAnswersExact({ evidence, ends }: IndexedEvidence): string[] {
  const named = evidence.calls.flatMap((c) => c.canceledIds ?? []);
  const namedIds = new Set(named);
  const canceled = new Set(
    [...ends].filter(([, end]) => end['message'] === canceledByRequest).map(([id]) => id),
  );
  return [
    ...repeated(named).map((id) => `${id} is named by two cancel responses`),
    ...[...namedIds].filter((id) => !canceled.has(id)).map((id) => `${id} was named, but not canceled`),
    ...[...canceled].filter((id) => !namedIds.has(id)).map((id) => `${id} was canceled, but not named`),
  ];
}

/**
 * Each call has its own transaction, and each transaction belongs to a call. If an attempt got no response and the next
 * was refused, the first attempt may have created a transaction.
 */
function oneKeyOneTransaction({ evidence }: IndexedEvidence): string[] {
  const ids = evidence.calls.flatMap((c) => c.transactionId ?? []);
  const spare = new Map<string, number>();
  for (const c of evidence.calls) {
    if (c.transactionId === undefined && c.attempts > 1) add(spare, place(c), 1);
  }
  const violations = repeated(ids).map((id) => `${id} is in the responses of two calls`);
  for (const t of unanswered(evidence)) {
    const key = `${t.deviceId} ${t.operationId}`;
    const left = spare.get(key) ?? 0;
    if (left > 0) add(spare, key, -1);
    else
      violations.push(`${t.transactionId} (${t.operationId}, device ${t.deviceId}) was requested by no call`);
  }
  return violations;
}

/** Transactions whose id is in no response. */
export function unanswered({ calls, transactions }: Evidence): ListedTransaction[] {
  const answered = new Set(calls.map((c) => c.transactionId));
  return transactions.filter((t) => !answered.has(t.transactionId));
}

function place(c: CallRecord): string {
  return `${c.deviceId} ${operationOf(c) ?? ''}`;
}

function operationOf({ kind }: CallRecord): string | undefined {
  return isOperation(kind) ? operations[kind] : undefined;
}

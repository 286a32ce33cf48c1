import type { Arrival, CallRecord, Evidence, ListedTransaction } from './evidence.ts';

/** One promise, and what breaks it; no violation: kept. */
export interface Check {
  readonly name: string;
  readonly violations: readonly string[];
}

/** The OpenAPI operationId of each call that makes a transaction (decision 8). */
export const operations = {
  command: 'put-v1-applications-devices-commands',
  activate: 'post-v1-applications-devices',
  deactivate: 'delete-v1-applications-devices',
  reset: 'put-v1-applications-devices-reset',
} as const;

/** End message of what an integrator canceled (ruling A10). */
export const canceledByRequest = 'The transaction was canceled by a cancel request.';

/** The one refusal that the load may meet: a command to, or a cancel on, a device that is deactivated just then. */
const notActivated = 'The device is not activated.';

/** End messages of canceled transactions (specification, error catalogues). */
const cancelMessages: readonly string[] = [
  canceledByRequest,
  'The transaction was canceled because the retry limit was exceeded.',
  'The transaction was canceled because there is a new transaction.',
  'The transaction was canceled because it occurred before deactivation.',
  'The transaction was canceled because it occurred before reset.',
];

type Part = 'accepted' | 'end' | 'answer';
const places: Record<Part, number> = { accepted: 0, end: 1, answer: 2 };

/** Which of a transaction's callbacks it is, by its body alone. */
function partOf(body: Record<string, unknown>): Part | undefined {
  if (body['notificationType'] === 'accepted') return 'accepted';
  if (body['notificationType'] === 'processed') return 'end';
  if (body['process'] === 'processed') return 'answer';
  return undefined;
}

/** The evidence, looked up by transaction. */
interface Case {
  readonly evidence: Evidence;
  readonly byId: ReadonlyMap<number, ListedTransaction>;
  /** First arrivals (each webhook-id once) of each transaction, in order. */
  readonly firsts: ReadonlyMap<number, readonly Arrival[]>;
  /** The end callback's body; of several the first. */
  readonly ends: ReadonlyMap<number, Record<string, unknown>>;
  readonly effects: ReadonlySet<number>;
}

/** Judges a run from outside: each check is one promise of the rulings. */
export function judge(evidence: Evidence): Check[] {
  const c = open(evidence);
  return [
    { name: 'in the end nothing is left unfinished', violations: evidence.unfinished },
    { name: 'every call is answered, and refused only for cause', violations: everyCallAnswered(evidence) },
    { name: 'every 201’s transaction exists', violations: everyTransactionExists(c) },
    { name: 'every transaction has an end state', violations: everyTransactionEnded(c) },
    { name: 'every transaction has one end callback, which agrees with its state', violations: oneEnd(c) },
    { name: 'every callback is signed', violations: everySigned(evidence) },
    { name: 'every callback names its transaction’s device and operation', violations: rightSubject(c) },
    { name: 'callbacks first arrive in the order accepted, end, answer', violations: inOrder(c) },
    { name: 'every app’s answer arrives', violations: everyAnswer(c) },
    { name: 'no transaction takes effect twice', violations: effectsOnce(evidence) },
    { name: 'every success took effect', violations: everySuccessTookEffect(c) },
    { name: 'nothing canceled by request took effect', violations: noCanceledEffect(c) },
    { name: 'cancel answers name exactly what they canceled', violations: cancelAnswersExact(c) },
    { name: 'one Idempotency-Key makes one transaction', violations: oneKeyOneTransaction(c) },
    { name: 'no acknowledged setting is lost', violations: settingsKept(evidence) },
    { name: 'the slots in use are the devices activated', violations: slotsMatch(evidence) },
    { name: 'activations stand as acknowledged', violations: activationsStand(evidence) },
    { name: 'no process ends by itself', violations: evidence.ownDeaths },
  ];
}

function open(evidence: Evidence): Case {
  const firsts = new Map<number, Arrival[]>();
  const seen = new Set<string>();
  for (const arrival of evidence.arrivals) {
    if (!arrival.verified || seen.has(arrival.webhookId)) continue;
    seen.add(arrival.webhookId);
    const id = Number(arrival.body?.transactionId);
    const list = firsts.get(id);
    if (list) list.push(arrival);
    else firsts.set(id, [arrival]);
  }
  const ends = new Map<number, Record<string, unknown>>();
  for (const [id, list] of firsts) {
    const end = list.find((a) => partOf(a.body) === 'end');
    if (end) ends.set(id, end.body);
  }
  return {
    evidence,
    byId: new Map(evidence.transactions.map((t) => [t.transactionId, t])),
    firsts,
    ends,
    effects: new Set(evidence.effects.map((e) => e.transactionId)),
  };
}

function everyCallAnswered({ calls }: Evidence): string[] {
  return calls
    .filter((c) => !(c.status >= 200 && c.status < 300))
    .filter(
      (c) =>
        !((c.kind === 'command' || c.kind === 'cancel') && c.status === 403 && c.message === notActivated),
    )
    .map((c) => `${c.kind} ${c.key}: ${c.status || 'no answer'} ${c.message ?? ''}`.trim());
}

function everyTransactionExists({ evidence, byId }: Case): string[] {
  return evidence.calls.flatMap((c) => {
    if (c.transactionId === undefined) return [];
    const t = byId.get(c.transactionId);
    if (!t) return [`${c.transactionId} (${c.kind}, key ${c.key}) is not in the list`];
    const same =
      t.deviceId === c.deviceId &&
      t.applicationId === c.applicationId &&
      t.operationId === operations[c.kind as keyof typeof operations];
    return same ? [] : [`${c.transactionId} is another call's: ${JSON.stringify(t)}`];
  });
}

function everyTransactionEnded({ evidence }: Case): string[] {
  return evidence.transactions
    .filter((t) => t.transactionStatus !== 'processed' && t.transactionStatus !== 'canceled')
    .map((t) => `${t.transactionId} (${t.operationId}, device ${t.deviceId}) is ${t.transactionStatus}`);
}

function oneEnd({ evidence, byId, firsts, ends }: Case): string[] {
  const violations: string[] = [];
  for (const t of evidence.transactions) {
    const count = (firsts.get(t.transactionId) ?? []).filter((a) => partOf(a.body) === 'end').length;
    if (count !== 1)
      violations.push(`${t.transactionId} (${t.transactionStatus}) has ${count} end callbacks`);
    const end = ends.get(t.transactionId);
    if (!end) continue;
    const canceled = end['result'] === 'failure' && cancelMessages.includes(String(end['message']));
    if (canceled !== (t.transactionStatus === 'canceled')) {
      violations.push(
        `${t.transactionId} is ${t.transactionStatus}, but its callback says ${end['message']}`,
      );
    }
  }
  for (const id of firsts.keys()) {
    if (!byId.has(id)) violations.push(`a callback is about ${id}, which is not in the list`);
  }
  return violations;
}

function everySigned({ arrivals }: Evidence): string[] {
  return arrivals.filter((a) => !a.verified).map((a) => `${a.webhookId || '(no id)'} is not verified`);
}

function rightSubject({ byId, firsts }: Case): string[] {
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

function inOrder({ firsts }: Case): string[] {
  const violations: string[] = [];
  for (const [id, list] of firsts) {
    const parts = list.map((a) => partOf(a.body));
    let last = -1;
    for (const part of parts) {
      const place = part === undefined ? -1 : places[part];
      if (place <= last) {
        violations.push(`${id}: ${parts.map((p) => p ?? 'unknown form').join(', ')}`);
        break;
      }
      last = place;
    }
  }
  return violations;
}

function everyAnswer({ evidence, ends, firsts }: Case): string[] {
  const answering = new Set(evidence.answeringDevices);
  return evidence.transactions.flatMap((t) => {
    const expected =
      t.operationId === operations.command &&
      t.transactionStatus === 'processed' &&
      answering.has(t.deviceId) &&
      ends.get(t.transactionId)?.['result'] === 'success';
    if (!expected) return [];
    const answers = (firsts.get(t.transactionId) ?? []).filter((a) => partOf(a.body) === 'answer').length;
    return answers === 1 ? [] : [`${t.transactionId} has ${answers} answers of its app`];
  });
}

function effectsOnce({ effects }: Evidence): string[] {
  return repeated(effects.map((e) => e.transactionId)).map((id) => `${id} took effect more than once`);
}

function everySuccessTookEffect({ evidence, ends, effects }: Case): string[] {
  const newestActivation = new Map<string, number>();
  for (const t of evidence.transactions) {
    if (t.operationId !== operations.activate) continue;
    newestActivation.set(t.deviceId, Math.max(t.transactionId, newestActivation.get(t.deviceId) ?? 0));
  }
  return evidence.transactions
    .filter((t) => ends.get(t.transactionId)?.['result'] === 'success' && !effects.has(t.transactionId))
    .filter(
      // A deactivation that a later activation has overtaken has nothing left to end.
      (t) =>
        t.operationId !== operations.deactivate || t.transactionId > (newestActivation.get(t.deviceId) ?? 0),
    )
    .map((t) => `${t.transactionId} (${t.operationId}, device ${t.deviceId}) succeeded without an effect`);
}

function noCanceledEffect({ ends, effects }: Case): string[] {
  return [...ends]
    .filter(([id, end]) => end['message'] === canceledByRequest && effects.has(id))
    .map(([id]) => `${id} was canceled by request and took effect`);
}

function cancelAnswersExact({ evidence, ends }: Case): string[] {
  const named = evidence.calls.flatMap((c) => c.canceledIds ?? []);
  const namedIds = new Set(named);
  const canceled = new Set(
    [...ends].filter(([, end]) => end['message'] === canceledByRequest).map(([id]) => id),
  );
  return [
    ...repeated(named).map((id) => `${id} is named by two cancel answers`),
    ...[...namedIds].filter((id) => !canceled.has(id)).map((id) => `${id} was named, but not canceled`),
    ...[...canceled].filter((id) => !namedIds.has(id)).map((id) => `${id} was canceled, but not named`),
  ];
}

/**
 * No two calls share a transaction, and none is there that no call asked for. A call that was
 * refused after an attempt without an answer may have made one with that attempt.
 */
function oneKeyOneTransaction({ evidence }: Case): string[] {
  const ids = evidence.calls.flatMap((c) => c.transactionId ?? []);
  const spare = new Map<string, number>();
  for (const c of evidence.calls) {
    if (c.transactionId === undefined && c.attempts > 1) add(spare, place(c), 1);
  }
  const violations = repeated(ids).map((id) => `${id} was answered to two calls`);
  for (const t of unanswered(evidence)) {
    const key = `${t.deviceId} ${t.operationId}`;
    const left = spare.get(key) ?? 0;
    if (left > 0) add(spare, key, -1);
    else
      violations.push(`${t.transactionId} (${t.operationId}, device ${t.deviceId}) was asked for by no call`);
  }
  return violations;
}

/** Transactions whose id no call was answered. */
export function unanswered({ calls, transactions }: Evidence): ListedTransaction[] {
  const answered = new Set(calls.map((c) => c.transactionId));
  return transactions.filter((t) => !answered.has(t.transactionId));
}

function place(c: CallRecord): string {
  return `${c.deviceId} ${operations[c.kind as keyof typeof operations] ?? ''}`;
}

function settingsKept({ calls, settings }: Evidence): string[] {
  const last = new Map<string, CallRecord>();
  for (const c of [...calls].sort((a, b) => a.order - b.order)) {
    if (c.setting && c.status === 200) last.set(`${c.applicationId} ${c.setting.field}`, c);
  }
  const final = new Map(settings.map((s) => [`${s.applicationId} ${s.field}`, s.value]));
  return [...last].flatMap(([name, c]) => {
    const value = final.get(name) ?? null;
    return value === c.setting?.value ? [] : [`${name} is ${value}, acknowledged was ${c.setting?.value}`];
  });
}

function slotsMatch({ applications }: Evidence): string[] {
  return applications
    .filter((a) => a.slots !== a.activatedDevices.length)
    .map((a) => `${a.applicationId}: ${a.slots} slots, ${a.activatedDevices.length} devices activated`);
}

function activationsStand({ calls, applications }: Evidence): string[] {
  const standing = new Map<string, boolean>();
  for (const c of [...calls].sort((a, b) => a.order - b.order)) {
    if (c.status !== 201 || !c.deviceId) continue;
    if (c.kind === 'activate') standing.set(c.deviceId, true);
    if (c.kind === 'deactivate') standing.set(c.deviceId, false);
  }
  return applications.flatMap((a) =>
    a.devices.flatMap((deviceId) => {
      const is = a.activatedDevices.includes(deviceId);
      const acknowledged = standing.get(deviceId) ?? false;
      return is === acknowledged
        ? []
        : [`${deviceId} is ${is ? '' : 'not '}activated, acknowledged was the contrary`];
    }),
  );
}

function repeated(ids: readonly number[]): number[] {
  const seen = new Set<number>();
  return [...new Set(ids.filter((id) => seen.has(id) || !seen.add(id)))];
}

function add(map: Map<string, number>, key: string, n: number): void {
  map.set(key, (map.get(key) ?? 0) + n);
}

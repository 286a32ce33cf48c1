import type { ApiAnswer } from '@headset-cloud/demo/api.ts';

/** The violations that a run found; empty: none. */
export type Finding = 'answers' | 'callbacks' | 'events' | 'processes';

/** The violations by kind, and the number of checked items. */
export class Findings {
  readonly #found = new Map<Finding, string[]>();
  calls = 0;
  /** Numbers of 503 responses with Retry-After, and of connections that ended without a response. */
  unavailable = 0;
  unanswered = 0;

  add(kind: Finding, what: string): void {
    this.#found.set(kind, [...this.of(kind), what]);
  }

  of(kind: Finding): readonly string[] {
    return this.#found.get(kind) ?? [];
  }

  get all(): readonly string[] {
    return [...this.#found.values()].flat();
  }
}

/** Whether a call must be repeated after this response; undefined: there was none. */
export function asksToRepeat(answer: ApiAnswer | undefined): boolean {
  return answer === undefined || answer.status >= 500;
}

/** Why a response is not permitted even while processes are replaced; undefined: it is permitted. */
export function wrongWith({ status, headers, body }: ApiAnswer): string | undefined {
  if (status < 400) return undefined;
  const what = `${status} ${JSON.stringify(body)}${headers['x-error-detail'] ? ` ${headers['x-error-detail']}` : ''}`;
  if (status !== 503) return what;
  return /^[1-9]\d*$/.test(String(headers['retry-after'] ?? '')) ? undefined : `${what} without Retry-After`;
}

/** The parts of a callback that the checks need. */
export interface Arrived {
  readonly webhookId: string;
  readonly verified: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

/** A transaction that was answered with 201. */
export interface Begun {
  readonly what: string;
  readonly transactionId: number;
  readonly deviceId: string;
}

/** True for the callback of a transaction's end; a connectivity operation has its own form. */
export function isEnd(body: Arrived['body']): boolean {
  return body?.notificationType === 'processed' || body?.statusCode !== undefined;
}

/** Checks that each transaction has the callbacks accepted and processed with success, one id each, all signed. */
export function checkCallbacks(begun: readonly Begun[], arrivals: readonly Arrived[]): string[] {
  const found = arrivals
    .filter((a) => !a.verified)
    .map((a) => `a callback without a valid signature: ${JSON.stringify(a.body)}`);
  const once = [...new Map(arrivals.toReversed().map((a) => [a.webhookId, a])).values()].reverse();
  const of = Map.groupBy(once, (a) => a.body?.transactionId as unknown);
  for (const { what, transactionId } of begun) {
    const bodies = (of.get(transactionId) ?? []).map(({ body }) => body);
    const steps = bodies
      .map((body) => (isEnd(body) ? 'the end' : String(body.notificationType)))
      .filter((step) => step !== 'progress');
    const end = bodies.at(-1);
    const name = `${what}, transaction ${transactionId}`;
    if (steps.join() !== 'accepted,the end') found.push(`${name}: sent ${steps.join(', ') || 'nothing'}`);
    else if (!isEnd(end)) found.push(`${name}: sent ${end.notificationType} after the end`);
    else if (end.result !== 'success' && end.statusCode !== 200) {
      found.push(`${name}: ended by ${JSON.stringify(end)}`);
    }
  }
  return found;
}

/** A dead letter, as the operators' API shows it. */
export interface DeadLetter {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
  readonly error: string;
}

/** While versions are mixed, dead letters are permitted only for events that wait for an upgrade. */
export function checkDeadLetters(letters: readonly DeadLetter[], mixed: boolean): string[] {
  return letters
    .filter(({ kind, state }) =>
      state === 'waiting' || state === 'replaying' ? !mixed || kind === 'poison' : false,
    )
    .map(({ id, kind, error }) => `${id} is a dead letter (${kind}): ${error}`);
}

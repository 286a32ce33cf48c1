import type { ApiAnswer } from '@headset-cloud/demo/api.ts';

/** Types of violations. */
export type Finding = 'answers' | 'callbacks' | 'events' | 'processes';

/** Violations by type, and the number of checked calls. */
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

/** Whether a call must be repeated after this response. Undefined: no response. */
export function asksToRepeat(answer: ApiAnswer | undefined): boolean {
  return answer === undefined || answer.status >= 500;
}

/** Returns why a response is not permitted while processes are replaced; undefined if it is permitted. */
export function wrongWith({ status, headers, body }: ApiAnswer): string | undefined {
  if (status < 400) return undefined;
  const what = `${status} ${JSON.stringify(body)}${headers['x-error-detail'] ? ` ${headers['x-error-detail']}` : ''}`;
  if (status !== 503) return what;
  return /^[1-9]\d*$/.test(String(headers['retry-after'] ?? '')) ? undefined : `${what} without Retry-After`;
}

/** Parts of a callback for the checks. */
export interface Arrived {
  readonly webhookId: string;
  readonly verified: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

/** A transaction of a 201 response. */
export interface Begun {
  readonly what: string;
  readonly transactionId: number;
  readonly deviceId: string;
}

/** Whether this is an end callback. The end callback of a connectivity operation has its own form. */
export function isEnd(body: Arrived['body']): boolean {
  return body?.notificationType === 'processed' || body?.statusCode !== undefined;
}

/** Checks that each transaction has the successful callbacks accepted and processed, once and signed. */
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

/** A dead letter of the operators' API. */
export interface DeadLetter {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
  readonly error: string;
}

/** While versions are mixed, dead letters are permitted only for events that wait for an upgrade. */
export function checkDeadLetters(deadLetters: readonly DeadLetter[], mixed: boolean): string[] {
  return deadLetters
    .filter(({ kind, state }) =>
      state === 'waiting' || state === 'replaying' ? !mixed || kind === 'poison' : false,
    )
    .map(({ id, kind, error }) => `${id} is a dead letter (${kind}): ${error}`);
}

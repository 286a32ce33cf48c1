import type { ApiAnswer } from '@headset-cloud/demo/api.ts';

/** What a run must not show; empty: nothing was found. */
export type Finding = 'answers' | 'callbacks' | 'events' | 'processes';

/** What was found wrong, by kind, and how much was looked at. */
export class Findings {
  readonly #found = new Map<Finding, string[]>();
  calls = 0;
  /** Answers 503 with Retry-After, and connections that ended without an answer. */
  turnedAway = 0;
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

/** Whether a call is to be repeated after this answer; undefined: none came. */
export function asksToRepeat(answer: ApiAnswer | undefined): boolean {
  return answer === undefined || answer.status >= 500;
}

/** Why an answer must not be given, whatever else happens meanwhile; undefined: it may be. */
export function wrongWith({ status, headers, body }: ApiAnswer): string | undefined {
  if (status < 400) return undefined;
  const what = `${status} ${JSON.stringify(body)}${headers['x-error-detail'] ? ` ${headers['x-error-detail']}` : ''}`;
  if (status !== 503) return what;
  return /^[1-9]\d*$/.test(String(headers['retry-after'] ?? '')) ? undefined : `${what} without Retry-After`;
}

/** A callback as the judge needs it. */
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

/** Whether a callback tells a transaction's end: that of a connectivity operation is its own form. */
export function tellsEnd(body: Arrived['body']): boolean {
  return body?.notificationType === 'processed' || body?.statusCode !== undefined;
}

/** Each transaction was told accepted, then processed with success, under one id each; all were signed. */
export function judgeCallbacks(begun: readonly Begun[], arrivals: readonly Arrived[]): string[] {
  const found = arrivals
    .filter((a) => !a.verified)
    .map((a) => `a callback without a right signature: ${JSON.stringify(a.body)}`);
  const once = [...new Map(arrivals.toReversed().map((a) => [a.webhookId, a])).values()].reverse();
  const of = Map.groupBy(once, (a) => a.body?.transactionId as unknown);
  for (const { what, transactionId } of begun) {
    const told = (of.get(transactionId) ?? []).map(({ body }) => body);
    const steps = told
      .map((body) => (tellsEnd(body) ? 'the end' : String(body.notificationType)))
      .filter((step) => step !== 'progress');
    const end = told.at(-1);
    const name = `${what}, transaction ${transactionId}`;
    if (steps.join() !== 'accepted,the end') found.push(`${name}: told ${steps.join(', ') || 'nothing'}`);
    else if (!tellsEnd(end)) found.push(`${name}: told ${end.notificationType} after the end`);
    else if (end.result !== 'success' && end.statusCode !== 200) {
      found.push(`${name}: ended by ${JSON.stringify(end)}`);
    }
  }
  return found;
}

/** An event that was set aside, as the operators' door shows it. */
export interface SetAside {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
  readonly error: string;
}

/** While versions are mixed, events may wait for an upgrade, and for nothing else. */
export function judgeSetAside(letters: readonly SetAside[], mixed: boolean): string[] {
  return letters
    .filter(({ kind, state }) =>
      state === 'waiting' || state === 'replaying' ? !mixed || kind === 'poison' : false,
    )
    .map(({ id, kind, error }) => `${id} is set aside (${kind}): ${error}`);
}

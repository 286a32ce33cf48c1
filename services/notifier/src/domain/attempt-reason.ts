import type { AttemptRecord } from './delivery.ts';

/** Why an attempt failed, for integrators: words of a fixed list, since errors' texts may name the platform's insides. */
export const attemptReasons = {
  answered: 'The endpoint answered with a status other than 2xx.',
  gone: 'The endpoint answered 410: it takes this callback no more.',
  dns: 'The host name cannot be resolved.',
  address_refused: 'The host name has no public address; callbacks go to no other.',
  connection: 'The endpoint cannot be connected to.',
  connection_lost: 'The connection was closed before the whole answer came.',
  tls: 'The TLS handshake failed, or the certificate is not valid.',
  time_out: 'No complete answer came in time.',
  malformed: 'The endpoint gave an answer that is not valid HTTP.',
  answer_too_large: 'The answer is too large.',
  proxy: 'The way out of the platform did not lead to the endpoint.',
  other: 'The request failed.',
} as const;

export type AttemptReason = keyof typeof attemptReasons;

/** By what errors' texts begin with or contain: their codes (sender.ts). The first that fits counts. */
const byError: readonly (readonly [RegExp, AttemptReason])[] = [
  [/^ADDRESS_REFUSED/, 'address_refused'],
  [/^EGRESS_PROXY/, 'proxy'],
  [/OVERFLOW|AnswerTooLarge/, 'answer_too_large'],
  [/^no (complete answer|TLS handshake) within|TIMEOUT|ETIMEDOUT|timed out/i, 'time_out'],
  [/ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|ENONAME|queryA/, 'dns'],
  [/CERT|TLS|SSL|UNABLE_TO_|EPROTO|certificate/i, 'tls'],
  [/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/, 'connection'],
  // undici sets no code, or UND_ERR_SOCKET.
  [/does not match the HTTP|HTTPParserError|bad (response|upgrade)/, 'malformed'],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/, 'connection_lost'],
];

/** Undefined: it did not fail. Pure. */
export function reasonOf({
  statusCode,
  error,
}: Pick<AttemptRecord, 'statusCode' | 'error'>): AttemptReason | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  if (statusCode === 410) return 'gone';
  if (statusCode > 0) return 'answered';
  return byError.find(([pattern]) => pattern.test(error))?.[1] ?? 'other';
}

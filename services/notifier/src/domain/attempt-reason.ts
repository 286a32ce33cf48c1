import type { AttemptRecord } from './delivery.ts';

/**
 * Reasons for a failed attempt, for integrators. A fixed list, because texts of errors may contain internals of the
 * platform.
 */
export const attemptReasons = {
  answered: 'The endpoint answered with a status other than 2xx.',
  gone: 'The endpoint answered 410: it no longer accepts this callback.',
  dns: 'The host name cannot be resolved.',
  address_refused: 'The host name has no public address. Callbacks are sent to public addresses only.',
  connection: 'The connection to the endpoint failed.',
  connection_lost: 'The connection was closed before the complete answer arrived.',
  tls: 'The TLS handshake failed, or the certificate is not valid.',
  time_out: 'No complete answer arrived in time.',
  malformed: 'The endpoint sent an answer that is not valid HTTP.',
  answer_too_large: 'The answer is too large.',
  proxy: 'The platform’s proxy could not reach the endpoint.',
  other: 'The request failed.',
} as const;

export type AttemptReason = keyof typeof attemptReasons;

/** Patterns in texts of errors: their codes (sender.ts). The first match counts. */
const byError: readonly (readonly [RegExp, AttemptReason])[] = [
  [/^ADDRESS_REFUSED/, 'address_refused'],
  [/^EGRESS_PROXY/, 'proxy'],
  [/OVERFLOW|AnswerTooLarge/, 'answer_too_large'],
  [/^no (complete answer|TLS handshake) within|TIMEOUT|ETIMEDOUT|timed out/i, 'time_out'],
  [/ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|ENONAME|queryA/, 'dns'],
  [/CERT|TLS|SSL|UNABLE_TO_|EPROTO|certificate/i, 'tls'],
  [/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/, 'connection'],
  // undici sets no code, or UND_ERR_SOCKET, for these errors.
  [/does not match the HTTP|HTTPParserError|bad (response|upgrade)/, 'malformed'],
  [/ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/, 'connection_lost'],
];

/** The reason for a failed attempt; undefined if it did not fail. Pure. */
export function reasonOf({
  statusCode,
  error,
}: Pick<AttemptRecord, 'statusCode' | 'error'>): AttemptReason | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  if (statusCode === 410) return 'gone';
  if (statusCode > 0) return 'answered';
  return byError.find(([pattern]) => pattern.test(error))?.[1] ?? 'other';
}

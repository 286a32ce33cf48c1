import { createHmac } from 'node:crypto';

/** Input of a signature. */
export interface SigningInput {
  readonly notificationId: string;
  /** The application's current key at this attempt, as it was issued. */
  readonly authenticationKey: string;
  /** The bytes of the request body. */
  readonly body: Uint8Array;
  /** Seconds since 1970. */
  readonly timestampSeconds: number;
}

/**
 * The headers that authenticate a callback (specification Callbacks 6, rule C10).
 *
 * X-TLPF-NOTIFICATION-KEY: lower-case hex of HMAC-SHA256(key, body).
 * webhook-signature (Standard Webhooks): `v1,` and base64 of HMAC-SHA256(key, message), where message is
 * `${webhook-id}.${webhook-timestamp}.${body}`.
 *
 * In both, `key` is the UTF-8 bytes of the authentication key's text, which is not decoded. A library for Standard
 * Webhooks expects `whsec_` and base64, so its secret is `whsec_` + base64(authentication key).
 */
export function signatureHeaders(input: SigningInput): Record<string, string> {
  const { authenticationKey: key, body, notificationId: id, timestampSeconds } = input;
  const standard = createHmac('sha256', key)
    .update(`${id}.${timestampSeconds}.`)
    .update(body)
    .digest('base64');
  return {
    'X-TLPF-NOTIFICATION-KEY': createHmac('sha256', key).update(body).digest('hex'),
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${standard}`,
  };
}

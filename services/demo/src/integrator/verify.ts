import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * How an integrator's server verifies a callback. Verify before parsing, over the bytes as they
 * came; then drop what has a `webhook-id` that was taken before: a callback may come twice.
 */
export interface ReceivedCallback {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawBody: Uint8Array;
}

/** How far `webhook-timestamp` may be from the receiver's clock; older ones may be replays. */
const toleranceSeconds = 300;

/**
 * True when both signatures are made with one of the authentication keys (while a key is being
 * renewed, a receiver knows the old one and the new one) and the callback is not an old one.
 */
export function verifyCallback(
  { headers, rawBody }: ReceivedCallback,
  authenticationKeys: readonly string[],
  nowSeconds = Date.now() / 1000,
): boolean {
  const id = one(headers['webhook-id']);
  const timestamp = one(headers['webhook-timestamp']);
  if (!id || !/^\d+$/.test(timestamp)) return false;
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) return false;
  return authenticationKeys.some((key) => {
    // Hex HMAC-SHA256 of the body.
    const simple = createHmac('sha256', key).update(rawBody).digest('hex');
    // Standard Webhooks: base64 HMAC-SHA256 of id, timestamp and body, divided by dots. The header
    // may hold several signatures, divided by spaces.
    const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody);
    const standard = `v1,${signed.digest('base64')}`;
    const offered = one(headers['webhook-signature']).split(' ');
    return (
      same(one(headers['x-tlpf-notification-key']), simple) &&
      offered.some((signature) => same(signature, standard))
    );
  });
}

function one(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}

/** Compares in a time that does not tell where the difference is. */
function same(given: string, right: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * A received callback. Verify the received bytes before you parse them. Then ignore a callback whose `webhook-id` was
 * accepted before, because a callback can be sent twice.
 */
export interface ReceivedCallback {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawBody: Uint8Array;
}

/** Maximum difference between `webhook-timestamp` and the receiver's clock. An older callback may be a replay. */
const toleranceSeconds = 300;

/**
 * Returns true if both signatures match one of the authentication keys and the timestamp is within the tolerance.
 * Pass the old and the new key while a key is being replaced.
 */
export function verifyCallback(
  { headers, rawBody }: ReceivedCallback,
  authenticationKeys: readonly string[],
  nowSeconds = Date.now() / 1000,
): boolean {
  const id = firstValue(headers['webhook-id']);
  const timestamp = firstValue(headers['webhook-timestamp']);
  if (!id || !/^\d+$/.test(timestamp)) return false;
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) return false;
  return authenticationKeys.some((key) => {
    // Hex HMAC-SHA256 of the body.
    const simple = createHmac('sha256', key).update(rawBody).digest('hex');
    // Standard Webhooks: base64 HMAC-SHA256 of id, timestamp and body, separated by dots. The header
    // may contain several signatures, separated by spaces.
    const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody);
    const standard = `v1,${signed.digest('base64')}`;
    const offered = firstValue(headers['webhook-signature']).split(' ');
    return (
      same(firstValue(headers['x-tlpf-notification-key']), simple) &&
      offered.some((signature) => same(signature, standard))
    );
  });
}

function firstValue(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}

/** Compares in constant time. */
function same(given: string, right: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

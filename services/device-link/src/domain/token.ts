import { limits } from './limits.ts';

/** Device and key that a headset's token contains; not verified. */
export interface TokenClaims {
  readonly deviceId: string;
  readonly keyId: string;
}

/** A token is refused. The message is for the headset's engineer and does not reveal which devices exist. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

const imei = /^\d{15}$/;

/** Returns the device and key that a token names. Throws TokenRefused for an invalid form. */
export function readClaims(header: unknown, payload: unknown): TokenClaims {
  const h = header as { alg?: unknown; kid?: unknown } | null;
  const p = payload as { sub?: unknown } | null;
  if (h?.alg !== 'ES256') throw new TokenRefused('the algorithm (alg) must be ES256');
  if (typeof h.kid !== 'string' || h.kid === '' || h.kid.length > 200) {
    throw new TokenRefused('the key id (kid) is missing');
  }
  if (typeof p?.sub !== 'string' || !imei.test(p.sub)) {
    throw new TokenRefused('the subject (sub) must be an IMEI of 15 digits');
  }
  return { deviceId: p.sub, keyId: h.kid };
}

/**
 * Checks the times and the audience of a token with a verified signature. Throws TokenRefused.
 * `nowMs`: the server's clock, milliseconds since 1970; times in the token are seconds.
 */
export function checkClaims(payload: unknown, audience: string, nowMs: number): void {
  const { aud, iat, exp, nbf } = payload as Record<string, unknown>;
  const nowS = nowMs / 1000;
  if (aud !== audience && !(Array.isArray(aud) && aud.includes(audience))) {
    throw new TokenRefused(`the audience (aud) must be ${audience}`);
  }
  if (!isTime(iat) || !isTime(exp)) throw new TokenRefused('iat and exp must be numbers');
  if (exp <= iat || exp - iat > limits.maxTokenLifetimeS) {
    throw new TokenRefused(`a token may be valid for at most ${limits.maxTokenLifetimeS} s`);
  }
  if (nowS > exp + limits.clockToleranceS) {
    throw new TokenRefused("expired; correct the clock by the server's time");
  }
  const notBefore = Math.max(iat, isTime(nbf) ? nbf : 0);
  if (nowS < notBefore - limits.clockToleranceS) {
    throw new TokenRefused("not valid yet; correct the clock by the server's time");
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

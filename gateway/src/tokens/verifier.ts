import { hash } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { unauthenticated } from '../http/errors.ts';
import { type ClaimRules, clientOf, defaultClaimRules, isForAudience, scopesOf } from './claims.ts';
import { type Algorithm, algorithms, type SigningKey } from './jwks.ts';
import type { KeySet } from './key-set.ts';
import type { Principal, TokenVerifier } from './types.ts';

/** Tolerated difference between the clocks of the issuer and this machine; seconds. */
const leewayS = 60;
const tokenLimit = 8192;

interface Verified {
  readonly principal: Principal;
  readonly untilMs: number;
  readonly generation: number;
}

export interface TokenVerifierOptions {
  readonly issuer: string;
  readonly audience: string;
  /** Default: the rules of the default configuration. */
  readonly claims?: ClaimRules;
  readonly keys: KeySet;
  readonly clock: Clock;
  /** Maximum verified tokens in the cache. */
  readonly cacheSize?: number;
}

interface Header {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/**
 * The header's algorithm and key id. No other field is used, because `jku`, `x5u`, `jwk` and `x5c` would let a token
 * choose its own key. Throws unauthenticated.
 */
function readHeader(token: string): Header {
  let header: Record<string, unknown> | null;
  try {
    header = JSON.parse(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8'));
  } catch {
    throw unauthenticated('the token is not a JWT');
  }
  const algorithm = algorithms.find((a) => a === header?.['alg']);
  if (!algorithm) throw unauthenticated('the signature algorithm is not accepted');
  const kid = header?.['kid'];
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 256)) {
    throw unauthenticated('the key id is not valid');
  }
  if (header?.['crit'] !== undefined) throw unauthenticated('the token has critical extensions');
  return { algorithm, kid };
}

/**
 * Rejects a token that was issued in the future, like a token with a future `nbf`. RFC 9068 does not require this
 * check. Such a time means that the issuer's clock is wrong, or that the token is not valid yet. `iat` may be absent.
 */
function checkIssueTime(iat: unknown, nowS: number): void {
  if (iat === undefined) return;
  if (typeof iat !== 'number') throw unauthenticated('the token is not valid');
  if (iat > nowS + leewayS) throw unauthenticated('the token was issued in the future');
}

function isWrongSignature(error: unknown): boolean {
  return error instanceof jwt.JsonWebTokenError && error.message === 'invalid signature';
}

function rejectionOf(error: unknown): Error {
  if (error instanceof jwt.TokenExpiredError) return unauthenticated('the token has expired');
  if (error instanceof jwt.NotBeforeError) return unauthenticated('the token is not valid yet');
  const message = (error as Error).message;
  if (message.startsWith('jwt issuer')) return unauthenticated('the token is of another issuer');
  return unauthenticated('the token is not valid');
}

/** Verifies access tokens (rule C11). Verified tokens are cached by hash until they expire. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { keys, clock, claims: rules = defaultClaimRules } = options;
  const verified = new LRUCache<string, Verified>({ max: options.cacheSize ?? 10_000 });

  async function check(token: string): Promise<Verified> {
    const { algorithm, kid } = readHeader(token);
    const found = await keys.find(kid, algorithm);
    if (!found) throw unauthenticated('the signing key is not known');
    let generation = keys.generation;
    const nowS = Math.floor(clock.now() / 1000);
    const verifyWith = ({ key }: SigningKey) =>
      jwt.verify(token, key, {
        algorithms: [algorithm],
        issuer: options.issuer,
        clockTolerance: leewayS,
        clockTimestamp: nowS,
      }) as jwt.JwtPayload;
    let claims: jwt.JwtPayload;
    try {
      try {
        claims = verifyWith(found);
      } catch (error) {
        if (!isWrongSignature(error)) throw error;
        const replacement = await keys.replacementOf(found, algorithm);
        if (!replacement) throw error;
        generation = keys.generation;
        claims = verifyWith(replacement);
      }
    } catch (error) {
      throw rejectionOf(error);
    }
    if (typeof claims !== 'object' || typeof claims.exp !== 'number') {
      throw unauthenticated('the token has no expiry');
    }
    if (!isForAudience(options.audience, claims, rules))
      throw unauthenticated('the token is for another audience');
    checkIssueTime(claims['iat'], nowS);
    const clientId = clientOf(claims, rules);
    if (clientId === undefined) throw unauthenticated('the token names no client');
    // The token's id is only for audit records, so an invalid id does not reject the token.
    const { jti } = claims;
    const tokenId = typeof jti === 'string' && jti.length <= 256 ? jti : '';
    const principal = { clientId, scopes: scopesOf(claims, rules), tokenId };
    return { principal, untilMs: (claims.exp + leewayS) * 1000, generation };
  }

  return {
    async verify(token) {
      if (token.length > tokenLimit) throw unauthenticated('the token is too long');
      // The hash is cached instead of the token, so that a memory dump contains no list of valid tokens.
      const id = hash('sha256', token, 'base64');
      const known = verified.get(id);
      if (known && known.untilMs > clock.now() && known.generation === keys.generation)
        return known.principal;
      verified.delete(id);
      const entry = await check(token);
      verified.set(id, entry);
      return entry.principal;
    },
  };
}

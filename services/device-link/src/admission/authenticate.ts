import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Metadata, status } from '@grpc/grpc-js';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import jwt from 'jsonwebtoken';
import type { Limiter } from '../calls/limiter.ts';
import { limits } from '../domain/limits.ts';
import { checkClaims, readClaims, type TokenClaims, TokenRefused } from '../domain/token.ts';
import { StreamRefused, streamUnavailable } from './refusals.ts';

/** Reason that is the same for an unknown device, an unknown key and a wrong signature. */
const notAccepted = 'the key or the signature is not accepted';

function tokenRefused(
  refusal: 'token' | 'key_removed',
  reason: string,
  clock: Clock,
  deviceId?: string,
): StreamRefused {
  const trailers = { 'x-server-time-ms': String(clock.now()) };
  const details = `The token was refused: ${reason}.`;
  return new StreamRefused(refusal, status.UNAUTHENTICATED, details, trailers, deviceId);
}

/**
 * Error of a stream whose key was removed after its token was accepted. A new stream with this key gets the same error.
 */
export const keyNotAccepted = (clock: Clock, deviceId: string): StreamRefused =>
  tokenRefused('key_removed', notAccepted, clock, deviceId);

export interface AuthenticatorDeps {
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'getHeadsetKeys'>;
  readonly audience: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Limits concurrent calls. */
  readonly limiter: Limiter;
}

/** Verifies the token in a stream's metadata, and returns its device and key. */
export type Authenticator = (metadata: Metadata) => Promise<TokenClaims>;

/**
 * Creates the authenticator of streams (rule C6). The authenticator throws StreamRefused:
 * - UNAUTHENTICATED for an invalid token, with the server's time in the trailer x-server-time-ms, so that a headset
 *   with a wrong clock can correct the clock;
 * - UNAVAILABLE if the keys cannot be read.
 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const refuse = (reason: string, deviceId?: string) => tokenRefused('token', reason, deps.clock, deviceId);

  async function readPublicKey(deviceId: string, keyId: string): Promise<KeyObject | undefined> {
    try {
      const { publicKeys } = await deps.limiter(() => deps.keys.getHeadsetKeys({ deviceId }));
      const pem = Object.hasOwn(publicKeys, keyId) ? publicKeys[keyId] : undefined;
      return pem === undefined ? undefined : createPublicKey(pem);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      deps.logger.warn({ deviceId, err: error }, 'the keys of a headset could not be read');
      const details = 'The service cannot check tokens at the moment.';
      throw streamUnavailable('unavailable', details, 2000, deviceId);
    }
  }

  return async (metadata) => {
    const header = metadata.get('authorization')[0]?.toString() ?? '';
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
    if (!token || token.length > 4096) throw refuse('authorization must be "Bearer <token>"');
    let claimed: string | undefined;
    try {
      const decoded = decode(token);
      const { deviceId, keyId } = readClaims(decoded?.header, decoded?.payload);
      claimed = deviceId;
      const key = await readPublicKey(deviceId, keyId);
      const payload = key && verify(token, key);
      // The error is the same for an unknown device, an unknown key and a wrong signature, so that it does not reveal
      // which devices and keys exist.
      if (!payload) throw new TokenRefused(notAccepted);
      checkClaims(payload, deps.audience, deps.clock.now());
      return { deviceId, keyId };
    } catch (error) {
      if (error instanceof TokenRefused) throw refuse(error.message, claimed);
      throw error;
    }
  };
}

function decode(token: string): { header: unknown; payload: unknown } | undefined {
  try {
    return jwt.decode(token, { complete: true }) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns the payload if the signature is valid. domain/token.ts checks the times, by the service's clock. */
function verify(token: string, key: KeyObject): unknown {
  try {
    return jwt.verify(token, key, {
      algorithms: ['ES256'],
      ignoreExpiration: true,
      ignoreNotBefore: true,
      clockTolerance: limits.clockToleranceS,
    });
  } catch {
    return undefined;
  }
}

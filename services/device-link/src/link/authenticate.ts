import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Metadata, Metadata as MetadataValue, status } from '@grpc/grpc-js';
import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import jwt from 'jsonwebtoken';
import { limits } from '../domain/limits.ts';
import { checkClaims, readClaims, type TokenClaims, TokenRefused } from '../domain/token.ts';
import type { Limiter } from './limiter.ts';
import type { StreamRefusal } from './metrics.ts';

/** How a stream ends before it began; what grpc-js takes as an error. */
export class LinkFailure extends Error {
  override readonly name = 'LinkFailure';
  /** Why, for the operator. */
  readonly refusal: StreamRefusal;
  /** The device that the stream says it is of; undefined: it said nothing that could be read. */
  readonly claimedDeviceId: string | undefined;
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;

  constructor(
    refusal: StreamRefusal,
    code: status,
    details: string,
    trailers: Readonly<Record<string, string>> = {},
    claimedDeviceId?: string,
  ) {
    super(details);
    this.refusal = refusal;
    this.claimedDeviceId = claimedDeviceId;
    this.code = code;
    this.details = details;
    this.metadata = new MetadataValue();
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, value);
  }
}

/** One reason for an unknown device, an unknown key and a wrong signature. */
const notAccepted = 'the key or the signature is not accepted';

function tokenRefused(
  refusal: 'token' | 'key_removed',
  reason: string,
  clock: Clock,
  deviceId?: string,
): LinkFailure {
  const trailers = { 'x-server-time-ms': String(clock.now()) };
  const details = `The token was refused: ${reason}.`;
  return new LinkFailure(refusal, status.UNAUTHENTICATED, details, trailers, deviceId);
}

/** The key of a token that was accepted is registered no more: the same answer as to a new stream with it. */
export const keyNotAccepted = (clock: Clock, deviceId: string): LinkFailure =>
  tokenRefused('key_removed', notAccepted, clock, deviceId);

export interface AuthenticatorDeps {
  readonly keys: Pick<Client<typeof HeadsetKeysService>, 'getHeadsetKeys'>;
  readonly audience: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Bounds the look-ups that run at a time. */
  readonly limiter: Limiter;
}

/**
 * Answers the device and the key that a stream's metadata proves (rule C6). Throws LinkFailure:
 * UNAUTHENTICATED with the server's time in the trailer x-server-time-ms, so that a headset with a
 * wrong clock can correct itself; UNAVAILABLE when the keys cannot be read at the moment.
 */
export function createAuthenticator(deps: AuthenticatorDeps): (metadata: Metadata) => Promise<TokenClaims> {
  const refuse = (reason: string, deviceId?: string) => tokenRefused('token', reason, deps.clock, deviceId);

  async function publicKey(deviceId: string, keyId: string): Promise<KeyObject | undefined> {
    try {
      const { publicKeys } = await deps.limiter(() => deps.keys.getHeadsetKeys({ deviceId }));
      const pem = Object.hasOwn(publicKeys, keyId) ? publicKeys[keyId] : undefined;
      return pem === undefined ? undefined : createPublicKey(pem);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      deps.logger.warn({ deviceId, err: error }, 'the keys of a headset could not be read');
      const trailers = { 'x-retry-after-ms': '2000' };
      const details = 'The service cannot check tokens at the moment.';
      throw new LinkFailure('unavailable', status.UNAVAILABLE, details, trailers, deviceId);
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
      const key = await publicKey(deviceId, keyId);
      const payload = key && verify(token, key);
      // One answer for an unknown device, an unknown key and a wrong signature: it tells nobody
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

/** The payload when the signature is right. Times are judged by domain/token.ts, on the service's clock. */
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

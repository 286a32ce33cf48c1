import { Metadata, status } from '@grpc/grpc-js';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { createRefusals, type Refusals } from '@headset-cloud/runtime/refusals.ts';
import { Counter, type Registry } from 'prom-client';

const refusals = [
  'token',
  'key_removed',
  'hello_missing',
  'protocol',
  'full',
  'crowded',
  'draining',
  'unavailable',
] as const;
/** Reason to end a stream before its session begins. */
export type StreamRefusal = (typeof refusals)[number];

/** Error that ends a stream; has the fields that grpc-js expects. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
  /** Reason for the operator. */
  readonly refusal: StreamRefusal;
  /** Device in the token, which may not be verified; undefined without a readable token. */
  readonly claimedDeviceId: string | undefined;
  readonly code: status;
  readonly details: string;
  readonly metadata = new Metadata();

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
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, value);
  }
}

/** Error UNAVAILABLE for a stream. `retryAfterMs`: delay until the headset connects again. */
export function streamUnavailable(
  refusal: StreamRefusal,
  details: string,
  retryAfterMs: number,
  claimedDeviceId?: string,
): StreamRefused {
  const trailers = { 'x-retry-after-ms': String(retryAfterMs) };
  return new StreamRefused(refusal, status.UNAVAILABLE, details, trailers, claimedDeviceId);
}

/**
 * Error for an invalid message. The headset will probably repeat the message, so it has to wait before it reconnects.
 */
export function protocolError(problem: string): StreamRefused {
  return new StreamRefused('protocol', status.INVALID_ARGUMENT, problem, { 'x-retry-after-ms': '5000' });
}

export const draining = () => streamUnavailable('draining', 'The server drains; connect again.', 0);

/** Registers headset_streams_refused_total. Each refusal is counted; one log line may report many refusals. */
export function createStreamRefusals(registry: Registry, logger: Logger): Refusals<StreamRefusal> {
  return createRefusals(
    new Counter({
      name: 'headset_streams_refused_total',
      help: 'Streams of headsets that were refused before their session began: token, key_removed, hello_missing (none in time), protocol (an invalid hello, or another version), full (DEVICE_LINK_MAX_SESSIONS), crowded (a newer stream replaced it), draining (this instance stops), unavailable (tokens cannot be checked, or a fault of the service).',
      labelNames: ['reason'],
      registers: [registry],
    }),
    refusals,
    (fields) => {
      // Expected for many headsets while an instance stops, because some of them reconnect too early.
      if (fields['reason'] === 'draining') logger.debug(fields, 'a stream of a headset was refused');
      else logger.warn(fields, 'a stream of a headset was refused');
    },
  );
}

/** The error of a stream beyond DEVICE_LINK_MAX_SESSIONS. */
export const full = () => streamUnavailable('full', 'This instance is full.', 5000);

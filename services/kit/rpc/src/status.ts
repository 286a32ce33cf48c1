import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import {
  DomainError,
  type ErrorCode,
  errorCatalogue,
  type ReachedLimit,
  toDomainError,
} from '@headset-cloud/runtime/errors.ts';

/** Metadata key of the error's stable code. */
export const codeKey = 'x-error-code';
const retryKey = 'x-retry-after-ms';
const limitKey = 'x-reached-limit';

/** Converts an error to a gRPC status: status by the catalogue, public message, and stable code in the trailers. */
export function toStatus(error: unknown): Partial<StatusObject> {
  const e = toDomainError(error);
  const metadata = new Metadata();
  metadata.set(codeKey, e.code);
  if (e.retryAfterMs !== undefined) metadata.set(retryKey, String(e.retryAfterMs));
  if (e.limit) metadata.set(limitKey, JSON.stringify(e.limit));
  return { code: errorCatalogue[e.code].grpc as number as status, details: e.message, metadata };
}

/** Error code of a call from a component that is not authorized to call the method. */
export const callerRefused = 'caller_refused';

/**
 * The status for a caller that is not authorized. The caller treats it as an unavailable service and retries, until an
 * operator corrects the wrong certificate.
 */
export function refusedCaller(): Partial<StatusObject> {
  const metadata = new Metadata();
  metadata.set(codeKey, callerRefused);
  return { code: status.PERMISSION_DENIED, details: 'The caller may not make this call.', metadata };
}

/**
 * The statuses by which grpc-js reports that a connection broke or that there was none; they have no code of the
 * platform. CANCELLED: the server closed the connection.
 */
const connectionLost: readonly status[] = [status.UNAVAILABLE, status.INTERNAL, status.CANCELLED];

/** True when a call failed because its connection broke or there was none; no service answered it. */
export function isConnectionLost(error: ServiceError): boolean {
  return connectionLost.includes(error.code) && !error.metadata?.get(codeKey).length;
}

/** Converts a gRPC status to a DomainError, by the stable code, or by the status if there is none. */
export function fromStatus(error: ServiceError, method: string): DomainError {
  const code = error.metadata?.get(codeKey)[0]?.toString();
  const retryAfter = error.metadata?.get(retryKey)[0]?.toString();
  const limit = error.metadata?.get(limitKey)[0]?.toString();
  if (code && code in errorCatalogue) {
    return new DomainError(code as ErrorCode, error.details, {
      ...(retryAfter && { retryAfterMs: Number(retryAfter) }),
      ...(limit && { limit: JSON.parse(limit) as ReachedLimit }),
      cause: error,
    });
  }
  if (code === callerRefused) {
    return new DomainError('unavailable', 'A service cannot be reached.', {
      cause: error,
      internal: `${method} was refused: the certificate of this process names no caller of it`,
      retryAfterMs: 1000,
    });
  }
  if (error.code === status.DEADLINE_EXCEEDED)
    return new DomainError('deadline_exceeded', 'A service took too long.', {
      cause: error,
      internal: `${method}: ${error.details}`,
      retryAfterMs: 1000,
    });
  // There is no code of the platform: the connection broke, or the peer is an older version without this RPC. Both are
  // transient.
  return new DomainError('unavailable', 'A service cannot be reached.', {
    cause: error,
    internal: `${method}: ${error.details}`,
    retryAfterMs: 1000,
  });
}

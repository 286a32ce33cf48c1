import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { DomainError, type ErrorCode, errorCatalogue, type ReachedLimit, toDomainError } from '../errors.ts';

/** Where a status carries the error's stable code. */
export const codeKey = 'x-error-code';
const retryKey = 'x-retry-after-ms';
const limitKey = 'x-reached-limit';
const notBegunKey = 'x-not-begun';

/** DomainError → gRPC status: the catalogue's status, the public message, the stable code in the trailers. */
export function toStatus(error: unknown): Partial<StatusObject> {
  const e = toDomainError(error);
  const metadata = new Metadata();
  metadata.set(codeKey, e.code);
  if (e.retryAfterMs !== undefined) metadata.set(retryKey, String(e.retryAfterMs));
  if (e.limit) metadata.set(limitKey, JSON.stringify(e.limit));
  return { code: errorCatalogue[e.code].grpc, details: e.message, metadata };
}

/** The status of a call that the server did not begin: another one, or the same later, may be asked at once. */
export function notBegun(error: DomainError): Partial<StatusObject> {
  const answer = toStatus(error);
  answer.metadata?.set(notBegunKey, '1');
  return answer;
}

/** The code of a call whose caller its method does not name. */
export const callerRefused = 'caller_refused';

/**
 * The status of a refused caller. For the caller it is as if the service could not be reached: a wrong
 * certificate is mended by an operator, and what the call was to do must not be given up meanwhile.
 */
export function refusedCaller(): Partial<StatusObject> {
  const metadata = new Metadata();
  metadata.set(codeKey, callerRefused);
  return { code: status.PERMISSION_DENIED, details: 'The caller may not make this call.', metadata };
}

/**
 * How grpc-js begins what it says when no connection was there to send a call on, or it went away just then (version
 * 1.14: UnavailablePicker, RoundRobinLoadBalancer, DnsResolver, LoadBalancingCall). It tells it in no other way.
 */
const unsent =
  /^((round_robin: )?No connection established|No addresses resolved|Name resolution failed|Failed to start HTTP\/2 stream)/;

/**
 * How grpc-js (1.14) tells that a connection or a stream ended without an answer, or before the call was on it, where
 * it has no better code for it than INTERNAL.
 */
const cutOff = /^(Received RST_STREAM with code|Write error: |Failed to start HTTP\/2 stream with error )/;

function wasCutOff(error: ServiceError): boolean {
  return error.code === status.INTERNAL && cutOff.test(error.details);
}

/**
 * True when a call that failed may be made once more at once: no server has begun it, or it is repeatable
 * and the connection broke.
 */
export function mayTryAgain(error: ServiceError, repeatable: boolean): boolean {
  // CANCELLED, when the caller has not canceled: the server ended the connection at the end of its drain.
  const codes: readonly status[] = [status.UNAVAILABLE, status.CANCELLED];
  if (!codes.includes(error.code) && !wasCutOff(error)) return false;
  if (error.metadata?.get(notBegunKey).length) return true;
  // The answer of a server that has begun it.
  if (error.metadata?.get(codeKey).length) return false;
  return repeatable || unsent.test(error.details);
}

/**
 * True when the peer itself was not reached or did not answer in time; false when it reports another
 * service as unavailable.
 */
export function isAway(error: ServiceError): boolean {
  const code = error.metadata?.get(codeKey)[0]?.toString();
  if (code !== undefined) return code === 'deadline_exceeded';
  const codes: readonly status[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED];
  return codes.includes(error.code) || wasCutOff(error);
}

/** gRPC status → DomainError, by the stable code, else by the status. */
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
  switch (wasCutOff(error) ? status.UNAVAILABLE : error.code) {
    case status.UNAVAILABLE:
    case status.RESOURCE_EXHAUSTED:
    case status.CANCELLED:
    // No platform code: an older peer that does not know the call and will soon be upgraded, or a proxy on
    // the way. Transient, like an unavailable peer.
    case status.UNIMPLEMENTED:
    case status.UNKNOWN:
      return new DomainError('unavailable', 'A service cannot be reached.', {
        cause: error,
        internal: `${method}: ${error.details}`,
        retryAfterMs: 1000,
      });
    case status.DEADLINE_EXCEEDED:
      return new DomainError('deadline_exceeded', 'A service took too long.', {
        cause: error,
        internal: method,
        retryAfterMs: 1000,
      });
    default:
      return new DomainError('internal', 'Internal error.', {
        cause: error,
        internal: `${method}: ${error.details}`,
      });
  }
}

import { Code } from '@connectrpc/connect';

/**
 * The platform's error catalogue: one stable code per kind of error, with its gRPC status (Connect's codes are the
 * same numbers) and the HTTP status for integrators (specification API 8, rules A2 to A4). No other table maps errors.
 */
export const errorCatalogue = {
  invalid_argument: { grpc: Code.InvalidArgument, http: 400 },
  invalid_body: { grpc: Code.InvalidArgument, http: 400 },
  unauthenticated: { grpc: Code.Unauthenticated, http: 401 },
  unknown_path: { grpc: Code.PermissionDenied, http: 403 },
  scope_missing: { grpc: Code.PermissionDenied, http: 403 },
  application_forbidden: { grpc: Code.PermissionDenied, http: 403 },
  device_not_activated: { grpc: Code.FailedPrecondition, http: 403 },
  device_activated_by_other: { grpc: Code.FailedPrecondition, http: 403 },
  activation_limit: { grpc: Code.FailedPrecondition, http: 403 },
  client_id_in_use: { grpc: Code.AlreadyExists, http: 403 },
  not_found: { grpc: Code.NotFound, http: 404 },
  destination_not_set: { grpc: Code.FailedPrecondition, http: 404 },
  method_not_allowed: { grpc: Code.Unimplemented, http: 405 },
  conflict: { grpc: Code.Aborted, http: 409 },
  body_too_large: { grpc: Code.InvalidArgument, http: 413 },
  idempotency_key_reused: { grpc: Code.FailedPrecondition, http: 422 },
  /** The caller has reached its own limit (ADR 0040); `limit` names the limit. */
  too_many_requests: { grpc: Code.ResourceExhausted, http: 429 },
  developer_not_registered: { grpc: Code.Internal, http: 500 },
  database_failed: { grpc: Code.Internal, http: 500 },
  internal: { grpc: Code.Internal, http: 500 },
  /** An integrator's own endpoint failed; the platform works. */
  integrator_failed: { grpc: Code.FailedPrecondition, http: 500 },
  unavailable: { grpc: Code.Unavailable, http: 503 },
  deadline_exceeded: { grpc: Code.DeadlineExceeded, http: 503 },
} as const;

export type ErrorCode = keyof typeof errorCatalogue;

/** The limit that rejected a call, for the header RateLimit-Policy. */
export interface ReachedLimit {
  /** Name of the policy: lower-case letters and '-'. */
  readonly policy: string;
  readonly quota: number;
  /** Length of the quota's window; absent if the limit is not a rate. */
  readonly windowSeconds?: number;
  /** The quota is a number of calls at the same time. */
  readonly concurrent?: boolean;
}

/**
 * An error with a stable code, a message that an integrator may read, and separate details for the logs
 * (`internal`, `cause`).
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  /** For the logs only; never leaves the platform. */
  readonly internal: string | undefined;
  /** When to retry, for transient errors; milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The limit of a `too_many_requests`. */
  readonly limit: ReachedLimit | undefined;

  constructor(
    code: ErrorCode,
    publicMessage: string,
    options: { cause?: unknown; internal?: string; retryAfterMs?: number; limit?: ReachedLimit } = {},
  ) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DomainError';
    this.code = code;
    this.internal = options.internal;
    this.retryAfterMs = options.retryAfterMs;
    this.limit = options.limit;
  }
}

/** MongoDB's code for an operation that took longer than its maxTimeMS. */
const maxTimeExpired = 50;
/**
 * Codes of permanent errors, which MongoDB would return again for the same command with the same documents: BadValue,
 * FailedToParse, TypeMismatch, ImmutableField, CannotCreateIndex, IndexOptionsConflict,
 * IndexKeySpecsConflict, DocumentValidationFailure, BSONObjectTooLarge, DuplicateKey.
 */
const permanentServerCodes: ReadonlySet<unknown> = new Set([2, 9, 14, 66, 67, 85, 86, 121, 10334, 11000]);

/**
 * Codes of the operating system for a connection that broke or could not be opened. The MongoDB driver throws these
 * errors unchanged if a write waits for its socket (mongodb 7.9, `Connection.writeCommand`). The clients for S3, HTTP
 * and gRPC throw their own errors instead.
 */
const brokenConnection: ReadonlySet<unknown> = new Set([
  ...['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED'],
]);

function isBrokenConnection(error: unknown): boolean {
  return error instanceof Error && brokenConnection.has((error as { code?: unknown }).code);
}

/** True for an error of the MongoDB driver. `PoolClearedOnNetworkError`: monitoring has interrupted the call. */
function isOfDriver(name: string): boolean {
  return name.startsWith('Mongo') || name === 'PoolClearedOnNetworkError';
}

/**
 * True for transient errors (a service or database is unavailable), which a retry may resolve.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof DomainError) {
    return (
      error.code === 'unavailable' || error.code === 'deadline_exceeded' || error.code === 'database_failed'
    );
  }
  if (isBrokenConnection(error)) return true;
  const name = error instanceof Error ? error.name : '';
  if (!isOfDriver(name) || permanentServerCodes.has((error as { code?: unknown }).code)) return false;
  if (name === 'MongoBulkWriteError') {
    // The driver reports every failed bulk with this error, even a broken connection. The error is permanent only if
    // the server has rejected single writes.
    return [(error as { writeErrors?: unknown }).writeErrors ?? []].flat().length === 0;
  }
  return !['MongoInvalidArgumentError', 'MongoAPIError'].includes(name);
}

/** True if work was aborted because it took too long. A smaller batch may succeed. */
export function isTooSlow(error: unknown): boolean {
  if (error instanceof DomainError && error.code === 'deadline_exceeded') return true;
  const { name, code, cause } = (error ?? {}) as { name?: unknown; code?: unknown; cause?: unknown };
  if (name === 'MongoNetworkTimeoutError' || name === 'MongoOperationTimeoutError') return true;
  if (name === 'MongoServerError' && code === maxTimeExpired) return true;
  return cause !== undefined && isTooSlow(cause);
}

/**
 * Converts any thrown value to a DomainError. Errors of the MongoDB driver and of broken connections become
 * `database_failed`, other errors `internal`.
 */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const name = error instanceof Error ? error.name : '';
  if (isOfDriver(name) || isBrokenConnection(error)) {
    return new DomainError('database_failed', 'The database failed.', {
      cause: error,
      retryAfterMs: 2000,
    });
  }
  return new DomainError('internal', 'Internal error.', { cause: error });
}

/** True when a write met a unique index (MongoDB's error 11000, on both stacks). */
export function isDuplicateKey(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 11000;
}

/** True if duplicates are the only errors of a write of one or many documents. */
export function areDuplicates(error: unknown): boolean {
  const errors = [(error as { writeErrors?: unknown }).writeErrors ?? []].flat();
  return errors.length > 0 ? errors.every(isDuplicateKey) : isDuplicateKey(error);
}

import type { BlockList } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline as flow } from 'node:stream/promises';
import { withActor } from '@headset-cloud/rpc/actor.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { addressOf } from '@headset-cloud/runtime/listeners/address.ts';
import type { BodyMemory } from '@headset-cloud/runtime/listeners/body-memory.ts';
import type { Context } from 'koa';
import { type Answer, sendJson } from './http/answer.ts';
import { GatewayError } from './http/errors.ts';
import { inputReader } from './input.ts';
import type { ApiOperation, ApiParameter } from './openapi/document.ts';
import { parameterReader, queryReader, type SchemaCompiler } from './openapi/validators.ts';
import type { Ownership } from './ownership.ts';
import type { Call, Handler } from './routes/types.ts';
import type { Shares } from './shares/shares.ts';
import { bearerToken } from './tokens/bearer.ts';
import type { TokenVerifier } from './tokens/types.ts';

export interface PipelineOptions {
  readonly tokens: TokenVerifier;
  readonly ownership: Ownership;
  readonly shares: Shares;
  /** Runs the work of a client's call. Throws `unavailable`, without starting the work, during an overload. */
  readonly admit: <T>(clientId: string, work: () => Promise<T>) => Promise<T>;
  readonly bodyLimitBytes: number;
  readonly bodies: BodyMemory;
  /** Time limit of one call for all its calls to services; milliseconds. */
  readonly totalMs: number;
  readonly compiler: SchemaCompiler;
  /** Addresses of trusted proxies, each of which forwards requests of many clients. */
  readonly proxies: BlockList;
  readonly clock: Clock;
}

/** Runs one API call for a request whose path and method are known. */
export type CallRunner = (ctx: Context, params: Readonly<Record<string, string>>) => Promise<void>;

/**
 * The checks of rule A3 after path and method, in its order, compiled once for an operation: token 401, scope 403,
 * developer 500, ownership 403, the client's share 429, path parameter 404, the device's share 429, query and body 400,
 * overload 503. The service makes the checks that depend on the device.
 */
export function createCallRunner(
  operation: ApiOperation,
  handler: Handler,
  {
    tokens,
    ownership,
    shares,
    admit,
    bodyLimitBytes,
    bodies,
    totalMs,
    compiler,
    proxies,
    clock,
  }: PipelineOptions,
): CallRunner {
  const hasApplication = operation.parameters.some((p) => p.in === 'path' && p.name === 'applicationId');
  const isChange = operation.method !== 'GET' || '201' in operation.responses;
  const readPath = pathReader(operation, compiler);
  const readQuery = queryReader(operation, compiler);
  const readInput = inputReader(operation, compiler, bodyLimitBytes);

  const route = `${operation.method} ${operation.path}`;

  return async (ctx, params) => {
    const principal = await tokens.verify(bearerToken(ctx.req.headers.authorization));
    ctx.state.clientId = principal.clientId;
    for (const scope of operation.scopes) {
      if (!principal.scopes.has(scope)) throw scopeMissing(scope);
    }
    const { clientId } = principal;
    const applicationId = params['applicationId'] ?? '';
    // If the path has no application (hardware properties), the service checks that the client may read the device. The
    // gateway only checks that the client's developer is registered, before it checks path and query.
    const startedAtMs = monotonicMs(clock);
    const limits = await withDeadline(totalMs, () =>
      ownership(clientId, hasApplication ? applicationId : undefined),
    );
    const leave = shares.enter(clientId, applicationId, limits);
    let releaseMemory = () => {};
    const hold = (bytes: number) => {
      releaseMemory = bodies.take(clientId, bytes);
    };
    try {
      // Computed before the body is read: the time in which the client sends its body does not count.
      const leftMs = totalMs - (monotonicMs(clock) - startedAtMs);
      const path = readPath(params);
      if (isChange && path.deviceId !== '') shares.change(clientId, path.deviceId, limits);
      const query = readQuery(ctx.querystring);
      const { body, idempotency } = await readInput(ctx, hold);
      const caller = { clientId, applicationId, idempotency };
      const call = { applicationId, ...path, query, body, scopes: principal.scopes, caller };
      // Reads leave no audit record, so their calls have no actor.
      const runHandler = () =>
        isChange
          ? withActor(
              {
                ...{ clientId, tokenId: principal.tokenId, route, requestId: ctx.state['requestId'] },
                address: addressOf(ctx.req, proxies),
              },
              () => handler(call),
            )
          : handler(call);
      const answer = await admit(clientId, () =>
        withDeadline(leftMs, async () => {
          const answered = await runHandler();
          // The first piece is created before the headers are sent, so that an early failure is an ordinary error
          // answer.
          return 'json' in answered ? answered : { ...answered, first: await answered.pieces.next() };
        }),
      );
      await send(ctx, answer);
    } finally {
      releaseMemory();
      leave();
    }
  };
}

function scopeMissing(scope: string): GatewayError {
  return new GatewayError('scope_missing', `The access token lacks the scope ${scope}.`, {
    'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  });
}

type PathValues = Pick<Call, 'deviceId' | 'transactionId' | 'package' | 'webhookId' | 'recoveryId'>;

/**
 * Reads the path parameters other than applicationId. A wrong one is not_found (rule A3), or the error code of the
 * document. Parameters with their own error code are checked last.
 */
function pathReader(
  operation: ApiOperation,
  compiler: SchemaCompiler,
): (params: Readonly<Record<string, string>>) => PathValues {
  const readers = operation.parameters
    .filter((p) => p.in === 'path' && p.name !== 'applicationId')
    .toSorted((a, b) => Number(a.errorCode !== undefined) - Number(b.errorCode !== undefined))
    .map((p) => ({ name: p.name, read: parameterReader(p, compiler), refusal: pathRefusal(p) }));
  return (params) => {
    const values: Record<string, string | number> = {
      deviceId: '',
      transactionId: 0,
      package: '',
      webhookId: '',
      recoveryId: '',
    };
    for (const { name, read, refusal } of readers) {
      const value = read(params[name] ?? '');
      if (value === undefined) throw refusal();
      values[name] = value;
    }
    return values as unknown as PathValues;
  };
}

function pathRefusal({ name, schema, errorCode }: ApiParameter): () => DomainError {
  if (errorCode === undefined) {
    return () => new DomainError('not_found', `The path parameter ${name} is not valid.`);
  }
  const supported = (schema['enum'] as string[]).join(', ');
  return () =>
    new DomainError(errorCode, `The path parameter ${name} is not supported: only ${supported} is.`);
}

/** A streamed answer whose first piece has been created. */
type Started = Exclude<Answer, { json: object }> & { readonly first: IteratorResult<string> };

async function send(ctx: Context, answer: Exclude<Answer, { pieces: unknown }> | Started): Promise<void> {
  if ('json' in answer) {
    if (answer.location !== undefined) ctx.set('Location', answer.location);
    if (answer.completeFrom !== undefined) ctx.set('X-Complete-From', answer.completeFrom);
    sendJson(ctx, answer.status, JSON.stringify(answer.json));
    return;
  }
  ctx.status = answer.status;
  ctx.set('Content-Type', 'application/json');
  ctx.respond = false;
  ctx.flushHeaders();
  // A failure midway destroys the connection, because an incomplete answer must not look complete.
  await flow(Readable.from(rest(answer.first, answer.pieces)), ctx.res);
}

async function* rest(first: IteratorResult<string>, pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  if (first.done) return;
  yield first.value;
  yield* pieces;
}

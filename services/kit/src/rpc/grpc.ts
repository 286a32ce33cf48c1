import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type ChannelOptions,
  credentials,
  Client as GrpcClient,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { ListenAddress } from '../config.ts';
import { isRetry, late, timeLeft, withDeadline } from '../deadline.ts';
import { DomainError, isTransient, toDomainError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { currentTraceparent, inRpcSpan } from '../telemetry.ts';
import { RetryBudget } from './retry-budget.ts';
import { fromStatus, isAway, toStatus } from './status.ts';
import type { CallOptions, Channel, RpcBinding } from './types.ts';

/** grpc-js's description of one method of a generated service: the adapter of rule C2. */
export function methodDefinition(
  method: DescMethod,
): MethodDefinition<MessageShape<DescMessage>, MessageShape<DescMessage>> {
  const bytes = (data: Uint8Array) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
    responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
    requestSerialize: (message) => bytes(toBinary(method.input, message)),
    requestDeserialize: (data) => fromBinary(method.input, data),
    responseSerialize: (message) => bytes(toBinary(method.output, message)),
    responseDeserialize: (data) => fromBinary(method.output, data),
  };
}

const messageLimitBytes = 8 * 1024 * 1024;

/** What servers and channels share. */
const commonOptions: ChannelOptions = {
  'grpc.max_receive_message_length': messageLimitBytes,
  'grpc.keepalive_time_ms': 20_000,
};

/** A gRPC server with the health service; `start` answers the port it listens on. */
export class RpcServer {
  readonly #server: Server;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  readonly #logger: Logger;
  /** False while the service is starting: calls are answered `unavailable`. */
  #serving = false;

  constructor(bindings: readonly RpcBinding[], logger: Logger, options: ChannelOptions = {}) {
    this.#logger = logger;
    this.#server = new Server({
      ...commonOptions,
      'grpc.keepalive_timeout_ms': 8_000,
      ...options,
    });
    this.#health.addToServer(this.#server);
    for (const { service, handlers } of bindings) {
      const definitions: Record<string, ReturnType<typeof methodDefinition>> = {};
      const implementation: UntypedServiceImplementation = {};
      for (const method of service.methods) {
        const handler = handlers[method.localName];
        if (method.methodKind !== 'unary' || !handler) continue;
        definitions[method.localName] = methodDefinition(method);
        implementation[method.localName] = this.#unary(method as DescMethodUnary, handler);
      }
      this.#server.addService(definitions, implementation);
    }
  }

  /** The grpc-js server, for services that stream. */
  get server(): Server {
    return this.#server;
  }

  #unary(
    method: DescMethodUnary,
    handler: RpcBinding['handlers'][string],
  ): handleUnaryCall<MessageShape<DescMessage>, MessageShape<DescMessage>> {
    return (call, callback) => {
      if (!this.#serving) return callback(toStatus(starting()));
      const waitsMs = Number(call.getDeadline()) - Date.now();
      // The call was queued here until its deadline passed: nobody would get the answer.
      if (waitsMs <= 0 || call.cancelled) return callback(toStatus(late()));
      const abort = new AbortController();
      call.on('cancelled', () => abort.abort());
      const traceparent = call.metadata.get('traceparent')[0]?.toString();
      const handle = () => handler(call.request as never, { signal: abort.signal });
      const run = Number.isFinite(waitsMs) ? () => withDeadline(waitsMs, handle) : handle;
      const work = traceparent ? inRpcSpan(method, traceparent, run) : run();
      work.then(
        (answer) => callback(null, create(method.output, answer as MessageInitShape<DescMessage>)),
        (error) => {
          const s = toStatus(error);
          if (s.metadata?.get('x-error-code')[0] === 'internal' || isTransient(toDomainError(error))) {
            this.#logger.error(
              { rpc: `${method.parent.typeName}/${method.name}`, err: error },
              'call failed',
            );
          }
          callback(s);
        },
      );
    };
  }

  /** Listens and serves; resolves with the port. Throws when the address is taken. */
  async start(address: ListenAddress): Promise<number> {
    const port = await this.listen(address);
    this.serve();
    return port;
  }

  /** Starts to accept the calls that have been refused since `listen`. */
  serve(): void {
    this.#serving = true;
    this.#health.setStatus('', 'SERVING');
  }

  /** Tells callers to use another instance, and goes on serving. */
  turnAway(): void {
    this.#health.setStatus('', 'NOT_SERVING');
  }

  /** Listens and refuses all calls with `unavailable` until `serve`; resolves with the port. */
  listen(address: ListenAddress): Promise<number> {
    const host = address.host.includes(':') ? `[${address.host}]` : address.host;
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(`${host}:${address.port}`, ServerCredentials.createInsecure(), (error, port) => {
        if (error)
          reject(
            new Error(
              `cannot listen on ${host}:${address.port}: ${error.message}. Is the port taken? Choose another.`,
            ),
          );
        else resolve(port);
      });
    });
  }

  /** Waits at most graceMs for open calls to finish, then closes. */
  async stop(graceMs = 3000): Promise<void> {
    this.#health.setStatus('', 'NOT_SERVING');
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, graceMs);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

function starting(): DomainError {
  return new DomainError('unavailable', 'The service is starting.', { retryAfterMs: 1000 });
}

function heldBack(method: DescMethodUnary): DomainError {
  return new DomainError('unavailable', 'A service cannot be reached.', {
    internal: `${method.name} is held back: its service does not answer, and it is no first try`,
    retryAfterMs: 1000,
  });
}

// grpc-js itself may retry read-only calls and calls that are idempotent by id; it retries only calls that
// the server has not begun to answer. Other calls are retried by their callers, who know how.
const serviceConfig = JSON.stringify({
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [],
});

/** Reaches services at `target` (host:port, or dns:///name:port for a headless service). */
export class GrpcChannel implements Channel {
  readonly #client: GrpcClient;

  constructor(target: string, options: ChannelOptions = {}) {
    this.#client = new GrpcClient(target, credentials.createInsecure(), {
      ...commonOptions,
      'grpc.service_config': serviceConfig,
      'grpc.keepalive_timeout_ms': 5_000,
      // channelz is off in clients, because nobody reads it and its bookkeeping costs time in each call. A
      // server needs it: without it, grpc-js 1.14 loses track of the connections that forceShutdown has to
      // close.
      'grpc.enable_channelz': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
      ...options,
    });
  }

  readonly #budget = new RetryBudget();
  readonly #definitions = new Map<DescMethodUnary, ReturnType<typeof methodDefinition>>();

  unary(
    method: DescMethodUnary,
    request: MessageInitShape<DescMessage>,
    options: CallOptions,
  ): Promise<MessageShape<DescMessage>> {
    const left = timeLeft();
    if (left !== undefined && left <= 0) return Promise.reject(late());
    if (!this.#budget.begin(isRetry())) return Promise.reject(heldBack(method));
    let definition = this.#definitions.get(method);
    if (!definition) {
      definition = methodDefinition(method);
      this.#definitions.set(method, definition);
    }
    const { path, requestSerialize, responseDeserialize } = definition;
    const metadata = new Metadata();
    const traceparent = currentTraceparent();
    if (traceparent) metadata.set('traceparent', traceparent);
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(method.input, request),
        metadata,
        { deadline: Date.now() + Math.min(options.deadlineMs ?? 5000, left ?? Number.POSITIVE_INFINITY) },
        (error: ServiceError | null, answer) => {
          const failure = error && fromStatus(error, path);
          this.#budget.end(error !== null && isAway(error));
          if (failure) reject(failure);
          else resolve(answer as MessageShape<DescMessage>);
        },
      );
      options.signal?.addEventListener('abort', () => call.cancel(), { once: true });
    });
  }

  async close(): Promise<void> {
    this.#client.close();
  }
}

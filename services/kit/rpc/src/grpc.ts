import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  fromBinary,
  getOption,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type ChannelOptions,
  connectivityState,
  credentials,
  Client as GrpcClient,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
  setLogger,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { repeatable } from '@headset-cloud/proto/common/v1/repeatable_pb.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { addressText, type ListenAddress } from '@headset-cloud/runtime/config.ts';
import { late, requireTime, timeLeft, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError, isTransient, toDomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { currentTraceparent, inRpcSpan } from '@headset-cloud/runtime/telemetry.ts';
import { HealthImplementation } from 'grpc-health-check';
import { actorKey, actorReceived, actorToSend, inCall } from './actor.ts';
import { createGuard, type Guard } from './guard.ts';
import type { Peer } from './identity.ts';
import type { CallObserver } from './metrics.ts';
import { MutualTlsCredentials } from './secure-channel.ts';
import { type Plaintext, SecureListener, type ServerTls } from './secure-listener.ts';
import type { RpcSecurity } from './security.ts';
import { codeKey, fromStatus, isConnectionLost, toStatus } from './status.ts';
import type { CallOptions, Channel, RpcBinding } from './types.ts';

const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;
const asBuffer = (data: Uint8Array): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Converts a method of a generated service to the definition that grpc-js needs (rule C2). */
export function methodDefinition(
  method: DescMethod,
): MethodDefinition<MessageShape<DescMessage>, MessageShape<DescMessage>> {
  return {
    path: pathOf(method),
    requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
    responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
    requestSerialize: (message) => asBuffer(toBinary(method.input, message)),
    requestDeserialize: (data) => fromBinary(method.input, data),
    responseSerialize: (message) => asBuffer(toBinary(method.output, message)),
    responseDeserialize: (data) => fromBinary(method.output, data),
  };
}

const messageLimitBytes = 8 * 1024 * 1024;

/** Options of servers and channels. */
const commonOptions: ChannelOptions = {
  'grpc.max_receive_message_length': messageLimitBytes,
  'grpc.keepalive_time_ms': 20_000,
};

/**
 * Maximum number of calls in progress on a channel (including those that wait for a connection), and on a server. Each
 * call ends at its deadline, so the number is reached only if something hangs; a call costs about 10 kB.
 */
const maxInProgress = 10_000;

/** Time that calls may continue on a connection that has reached its maximum age; longer than any call's deadline. */
const oldConnectionMs = 60_000;

/** Options that limit the age of a server's connections, so that callers reconnect and discover new instances. */
export function connectionAge(ageMs: number): ChannelOptions {
  return { 'grpc.max_connection_age_ms': ageMs, 'grpc.max_connection_age_grace_ms': oldConnectionMs };
}

/**
 * Writes the messages of grpc-js to the log. Drops the message about invalid metadata, because it contains the
 * metadata, for example a token of a caller.
 */
function grpcConsole(logger: Logger): Partial<Console> {
  const log = (...words: unknown[]): void => {
    const text = words.join(' ');
    if (!text.startsWith('Failed to add metadata entry'))
      logger.warn({ reason: text }, 'grpc-js reports a problem');
  };
  return { error: log, info: log, debug: log };
}

/** A gRPC server with the health service; `start` returns its port. */
export class RpcServer {
  readonly #server: Server;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  readonly #logger: Logger;
  readonly #observe: CallObserver;
  readonly #time: Time;
  readonly #guard: Guard | undefined;
  readonly #listener: SecureListener | undefined;
  /** False while the service starts; calls wait until it is true. */
  #serving = false;
  readonly #started = Promise.withResolvers<void>();
  #inProgress = 0;

  /**
   * `observe` is called for each answered call. `security` selects the listener. RpcSecurity: mutual TLS, callers must
   * prove their identity (rule C20). ServerTls: only the server has a certificate. Plaintext: no TLS, with limits of
   * connections. Default: no TLS and no limits.
   */
  constructor(
    bindings: readonly RpcBinding[],
    logger: Logger,
    options: ChannelOptions = {},
    observe: CallObserver = () => {},
    security?: RpcSecurity | ServerTls | Plaintext,
    time: Time = systemTime,
  ) {
    setLogger(grpcConsole(logger));
    this.#logger = logger;
    this.#observe = observe;
    this.#time = time;
    const isMutual = security && security.mode !== 'server' && security.mode !== 'plaintext';
    this.#guard = isMutual ? createGuard(security, logger) : undefined;
    this.#server = new Server({
      ...commonOptions,
      'grpc.keepalive_timeout_ms': 8_000,
      ...options,
    });
    this.#listener = security && new SecureListener(this.#server, security, logger, {}, time);
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

  /** Number of calls that are being handled or wait for the start. */
  get inProgress(): number {
    return this.#inProgress;
  }

  /** The grpc-js server, for services that stream. */
  get server(): Server {
    return this.#server;
  }

  #unary(
    method: DescMethodUnary,
    handler: RpcBinding['handlers'][string],
  ): handleUnaryCall<MessageShape<DescMessage>, MessageShape<DescMessage>> {
    const guard = this.#guard?.(method);
    return (call, done) => {
      const startedAtMs = this.#time.monotonicNow();
      const callback: typeof done = (error, answer) => {
        const code = error === null ? 'ok' : String(error.metadata?.get(codeKey)[0] ?? 'internal');
        this.#observe(method, code, (this.#time.monotonicNow() - startedAtMs) / 1000);
        done(error, answer);
      };
      const refusal = guard?.(call.getAuthContext(), call.getPeer());
      if (refusal) return callback(refusal);
      if (this.#inProgress >= maxInProgress) return callback(toStatus(overloaded(method)));
      // grpc-js measures deadlines by the wall clock of the machine.
      const waitsMs = Number(call.getDeadline()) - Date.now();
      // The caller no longer waits: the deadline has passed while the call was queued, or the caller has canceled it.
      if (waitsMs <= 0 || call.cancelled) return callback(toStatus(late()));
      const abort = new AbortController();
      call.on('cancelled', () => abort.abort(new Error('the caller waits no longer')));
      const traceparent = call.metadata.get('traceparent')[0]?.toString();
      const actor = actorReceived(call.metadata.get(actorKey)[0]);
      const begin = () =>
        inCall(method, () => handler(call.request as never, { signal: abort.signal }), actor);
      const handle = this.#serving ? begin : () => this.#afterStart(begin);
      const run = Number.isFinite(waitsMs) ? () => withDeadline(waitsMs, handle) : handle;
      this.#inProgress += 1;
      const work = traceparent ? inRpcSpan(method, traceparent, run) : run();
      work.then(
        (answer) => {
          this.#inProgress -= 1;
          callback(null, create(method.output, answer as MessageInitShape<DescMessage>));
        },
        (error) => {
          this.#inProgress -= 1;
          const s = toStatus(error);
          if (s.metadata?.get(codeKey)[0] === 'internal' || isTransient(toDomainError(error))) {
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

  async #afterStart<T>(handle: () => Promise<T>): Promise<T> {
    await this.#started.promise;
    requireTime();
    return handle();
  }

  /** Listens and serves; resolves with the port. Throws when the address is taken. */
  async start(address: ListenAddress): Promise<number> {
    const port = await this.listen(address);
    this.serve();
    return port;
  }

  /** Starts to handle calls, including those that waited since `listen`. */
  serve(): void {
    this.#serving = true;
    this.#started.resolve();
    this.#health.setStatus('', 'SERVING');
  }

  /** Reports NOT_SERVING by the health service, so that callers switch to other instances. Continues to serve. */
  beginDrain(): void {
    this.#health.setStatus('', 'NOT_SERVING');
  }

  /** Listens and holds all calls until `serve`; resolves with the port. */
  listen(address: ListenAddress): Promise<number> {
    if (this.#listener) {
      return this.#listener.listen(address).catch((error: Error) => {
        throw cannotListen(addressText(address), error);
      });
    }
    const text = addressText(address);
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(text, ServerCredentials.createInsecure(), (error, port) => {
        if (error) reject(cannotListen(text, error));
        else resolve(port);
      });
    });
  }

  /** Waits at most graceMs for open calls to finish, then closes. */
  async stop(graceMs = 3000): Promise<void> {
    this.#health.setStatus('', 'NOT_SERVING');
    const listenerClosed = this.#listener?.close();
    await new Promise<void>((resolve) => {
      const timer = this.#time.setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, graceMs);
      this.#server.tryShutdown(async () => {
        await listenerClosed;
        this.#time.clearTimer(timer);
        resolve();
      });
    });
  }
}

function cannotListen(where: string, error: Error): Error {
  return new Error(`cannot listen on ${where}: ${error.message}. Is the port taken? Choose another.`);
}

function overloaded(method: DescMethodUnary): DomainError {
  return new DomainError('unavailable', 'A service is overloaded.', {
    internal: `${method.name} is refused: ${maxInProgress} calls are in progress`,
    retryAfterMs: 1000,
  });
}

const serviceConfig = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], methodConfig: [] });

/** How long a call waits for a connection if there is none; milliseconds. */
const connectMs = 1500;

/** The service that a channel with mutual TLS must reach. */
export interface Expected {
  readonly security: RpcSecurity;
  readonly service: Peer;
}

interface Attempt {
  readonly method: DescMethodUnary;
  readonly message: Uint8Array;
  /** Deadline by the wall clock, which grpc-js uses. */
  readonly endsAtMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Reaches services at `target` (host:port, or dns:///name:port for a headless service). */
export class GrpcChannel implements Channel {
  readonly #client: GrpcClient;

  constructor(target: string, options: ChannelOptions = {}, expected?: Expected, time: Time = systemTime) {
    const secured = expected && new MutualTlsCredentials(expected.security, expected.service, time);
    this.#client = new GrpcClient(target, secured ?? credentials.createInsecure(), {
      ...commonOptions,
      'grpc.service_config': serviceConfig,
      'grpc.keepalive_timeout_ms': 5_000,
      // Clients do not use channelz, and it takes time in each call. Servers need channelz, because without it
      // forceShutdown of grpc-js 1.14 does not close all connections.
      'grpc.enable_channelz': 0,
      // Minimum time between DNS lookups after a connection breaks; the default is 30 s.
      'grpc.dns_min_time_between_resolutions_ms': 500,
      'grpc.service_config_disable_resolution': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
      ...options,
    });
  }

  #inProgress = 0;

  /** Shared by all calls that wait for a connection; resolves with true if there is one. */
  #connecting: Promise<boolean> | undefined;

  /**
   * Makes a call. Waits a short time if there is no connection, and repeats a repeatable call once if its connection
   * broke. So no call fails because an instance stops while another instance can answer.
   */
  async unary(
    method: DescMethodUnary,
    request: MessageInitShape<DescMessage>,
    options: CallOptions,
  ): Promise<MessageShape<DescMessage>> {
    const left = timeLeft();
    if (left !== undefined && left <= 0) throw late();
    if (this.#inProgress >= maxInProgress) throw overloaded(method);
    const endsAtMs = Date.now() + Math.min(options.deadlineMs ?? 5000, left ?? Number.POSITIVE_INFINITY);
    const message = toBinary(method.input, create(method.input, request));
    const attempt = { method, message, endsAtMs, signal: options.signal };
    this.#inProgress += 1;
    try {
      const isConnected = await this.#connected();
      try {
        return await this.#try(attempt, isConnected);
      } catch (error) {
        const mayRepeat =
          getOption(method, repeatable) && isConnected && isConnectionLost(error as ServiceError);
        if (!mayRepeat || options.signal?.aborted) throw error;
      }
      return await this.#try(attempt, await this.#connected());
    } catch (error) {
      throw fromStatus(error as ServiceError, pathOf(method));
    } finally {
      this.#inProgress -= 1;
    }
  }

  /**
   * Makes one attempt. Rejects with a ServiceError. With `isConnected`, the attempt waits for the next connection if
   * the connection ends before the call is sent. Without it, the attempt fails at once with the reason why there is no
   * connection.
   */
  #try(
    { method, message, endsAtMs, signal }: Attempt,
    isConnected: boolean,
  ): Promise<MessageShape<DescMessage>> {
    const metadata = new Metadata({ waitForReady: isConnected });
    const traceparent = currentTraceparent();
    if (traceparent) metadata.set('traceparent', traceparent);
    const actor = actorToSend();
    if (actor) metadata.set(actorKey, actor);
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        pathOf(method),
        asBuffer,
        (data) => fromBinary(method.output, data),
        message,
        metadata,
        { deadline: endsAtMs },
        (error: ServiceError | null, answer) => {
          signal?.removeEventListener('abort', cancel);
          if (error) reject(error);
          else resolve(answer as MessageShape<DescMessage>);
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
    });
  }

  /** Returns true if there is a connection. Otherwise waits a short time for one; false: there still is none. */
  #connected(): Promise<boolean> | true {
    if (this.#client.getChannel().getConnectivityState(false) === connectivityState.READY) return true;
    this.#connecting ??= new Promise((resolve) => {
      this.#client.waitForReady(Date.now() + connectMs, (error) => {
        this.#connecting = undefined;
        resolve(!error);
      });
    });
    return this.#connecting;
  }

  async close(): Promise<void> {
    this.#client.close();
  }
}

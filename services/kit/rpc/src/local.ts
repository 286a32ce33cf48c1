import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { late, timeLeft, withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError, toDomainError } from '@headset-cloud/runtime/errors.ts';
import { currentTraceparent, inRpcSpan } from '@headset-cloud/runtime/telemetry.ts';
import { inCall } from './actor.ts';
import type { CallOptions, Channel, HandlerContext, RpcBinding } from './types.ts';

/**
 * Calls handlers of the same process: the embedded stack's channel. It keeps the guarantees that callers
 * have over the network: deadlines, DomainErrors, complete protobuf messages. Messages are passed by
 * reference, so a handler must not change a request.
 */
export class LocalChannel implements Channel {
  readonly #bindings = new Map<string, RpcBinding>();
  readonly #time: Time;

  constructor(time: Time = systemTime) {
    this.#time = time;
  }

  /** Makes services reachable. Called when they start. */
  register(bindings: readonly RpcBinding[]): void {
    for (const b of bindings) this.#bindings.set(b.service.typeName, b);
  }

  async unary(
    method: Parameters<Channel['unary']>[0],
    request: MessageInitShape<DescMessage>,
    options: CallOptions,
  ): Promise<MessageShape<DescMessage>> {
    const handler = this.#bindings.get(method.parent.typeName)?.handlers[method.localName];
    if (!handler) {
      // A transient error, as over the network, because the service may start later.
      throw new DomainError('unavailable', 'A service cannot be reached.', {
        internal: `${method.parent.typeName} is not running`,
        retryAfterMs: 1000,
      });
    }
    const left = timeLeft();
    if (left !== undefined && left <= 0) throw late();
    const waitsMs = Math.min(options.deadlineMs ?? 5000, left ?? Number.POSITIVE_INFINITY);
    const caller = new LocalCaller(options.signal);
    const handle = () => inCall(method, () => handler(create(method.input, request) as never, caller));
    const run = () => withDeadline(waitsMs, handle, this.#time);
    const traceparent = currentTraceparent();
    const { promise: answered, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = this.#time.setTimeout(() => {
      caller.leave();
      reject(
        new DomainError('deadline_exceeded', 'A service took too long.', {
          internal: `${method.parent.typeName}/${method.name}`,
          retryAfterMs: 1000,
        }),
      );
    }, waitsMs);
    (traceparent ? inRpcSpan(method, traceparent, run) : run()).then(resolve, reject);
    try {
      return create(method.output, (await answered) as MessageInitShape<DescMessage>);
    } catch (error) {
      throw toDomainError(error);
    } finally {
      this.#time.clearTimer(timer);
      caller.answered();
    }
  }

  async close(): Promise<void> {
    this.#bindings.clear();
  }
}

/** A caller that waits for an answer. Few handlers use the signal, so it is created at its first use. */
class LocalCaller implements HandlerContext {
  readonly #own: AbortSignal | undefined;
  #left = false;
  #abort: AbortController | undefined;

  constructor(own: AbortSignal | undefined) {
    this.#own = own;
    own?.addEventListener('abort', this.leave, { once: true });
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#left || this.#own?.aborted) this.leave();
    return this.#abort.signal;
  }

  /** Aborts the signal, because the caller no longer waits: its deadline has passed, or it has canceled the call. */
  readonly leave = (): void => {
    this.#left = true;
    this.#abort?.abort(new Error('the caller waits no longer'));
  };

  /** Stops listening to the caller's own signal, because the call has ended. */
  answered(): void {
    this.#own?.removeEventListener('abort', this.leave);
  }
}

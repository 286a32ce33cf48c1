import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { inCall } from '../audit/actor.ts';
import { late, timeLeft, withDeadline } from '../deadline.ts';
import { DomainError, toDomainError } from '../errors.ts';
import { currentTraceparent, inRpcSpan } from '../telemetry.ts';
import type { CallOptions, Channel, RpcBinding } from './types.ts';

/**
 * Calls handlers of the same process: the embedded stack's channel. It keeps the guarantees that callers
 * have over the network: deadlines, DomainErrors, complete protobuf messages. Messages are passed by
 * reference: handlers must not change a request.
 */
export class LocalChannel implements Channel {
  readonly #bindings = new Map<string, RpcBinding>();

  /** Makes services reachable; called as they start. */
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
      // Transient, as over the network: the peer will come back.
      const message = `${method.parent.typeName} is not running.`;
      throw new DomainError('unavailable', message, { retryAfterMs: 1000 });
    }
    const left = timeLeft();
    if (left !== undefined && left <= 0) throw late();
    const waitsMs = Math.min(options.deadlineMs ?? 5000, left ?? Number.POSITIVE_INFINITY);
    const abort = new AbortController();
    const giveUp = () => abort.abort(new Error('the caller waits no longer'));
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        giveUp();
        reject(new DomainError('deadline_exceeded', `${method.name} took too long.`));
      }, waitsMs);
    });
    options.signal?.addEventListener('abort', giveUp, { once: true });
    const handle = () =>
      inCall(method, () => handler(create(method.input, request) as never, { signal: abort.signal }));
    const run = () => withDeadline(waitsMs, handle);
    const traceparent = currentTraceparent();
    try {
      const answer = await Promise.race([traceparent ? inRpcSpan(method, traceparent, run) : run(), expired]);
      return create(method.output, answer as MessageInitShape<DescMessage>);
    } catch (error) {
      throw toDomainError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#bindings.clear();
  }
}

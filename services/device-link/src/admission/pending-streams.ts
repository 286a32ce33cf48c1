import { status } from '@grpc/grpc-js';
import type { ConnectRequest, Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Refusals } from '@headset-cloud/runtime/refusals.ts';
import { limits } from '../domain/limits.ts';
import { checkHello } from '../domain/messages.ts';
import type { TokenClaims } from '../domain/token.ts';
import type { SessionMetrics } from '../session/metrics.ts';
import { type Incoming, type LinkCall, resetStream, UnreadableMessage } from '../transport/wire.ts';
import { keyNotAccepted } from './authenticate.ts';
import type { KeyHolder } from './key-check.ts';
import { draining, protocolError, type StreamRefusal, StreamRefused, streamUnavailable } from './refusals.ts';

export interface PendingStreamsDeps {
  readonly clock: Clock;
  readonly time: Time;
  readonly logger: Logger;
  readonly metrics: SessionMetrics;
  /** Counts and logs refused streams. */
  readonly refused: Refusals<StreamRefusal>;
  readonly connections: Pick<Connections, 'addressOf'>;
  readonly sessionCount: () => number;
  readonly helloDeadlineMs: number;
  readonly maxSessions: number;
  /** There may be at most `maxSessions + maxWaiting` sessions and pending streams together. */
  readonly maxWaiting: number;
}

/** A stream without a session. */
export interface PendingStream {
  readonly call: LinkCall;
  /** Deadline of the hello, by the monotonic clock; milliseconds. */
  readonly deadlineMs: number;
  /** Device and key of the accepted token, for the check of keys. */
  holder?: KeyHolder;
  /** True while the stream is authenticated and waits for its hello. */
  awaitsHello?: true;
  /** When the refused stream is reset unless it has ended, by the monotonic clock; undefined: not refused. */
  resetAtMs?: number;
}

/** True until the stream is refused or canceled. */
export const isOpen = ({ call, resetAtMs }: PendingStream) => resetAtMs === undefined && !call.cancelled;

/**
 * The streams without a session. Limits their number, waits for each hello until its deadline, and refuses streams. At
 * the limit, a new stream replaces the stream that waits longest for its hello. A new stream of a device replaces an
 * earlier stream of the device.
 */
export class PendingStreams {
  readonly #deps: PendingStreamsDeps;
  readonly #streams = new Set<PendingStream>();
  /** Streams that wait for their hello, by device. */
  readonly #awaited = new Map<string, PendingStream>();

  constructor(deps: PendingStreamsDeps) {
    this.#deps = deps;
  }

  /** Adds a stream; returns undefined if the stream was refused because there are too many. */
  add(call: LinkCall): PendingStream | undefined {
    const stream: PendingStream = { call, deadlineMs: this.#nowMs() + this.#deps.helloDeadlineMs };
    if (!this.#makeSpace()) {
      this.#evict(stream);
      return undefined;
    }
    this.#streams.add(stream);
    call.once('cancelled', () => this.#streams.delete(stream));
    return stream;
  }

  /** Removes a stream that has a session now. */
  remove(stream: PendingStream): void {
    this.#streams.delete(stream);
  }

  /** Records that the stream's token was accepted. From now on its key is checked like the keys of sessions. */
  authenticated(stream: PendingStream, { deviceId, keyId }: TokenClaims): void {
    const { logger, clock } = this.#deps;
    const isPending = () => this.#streams.has(stream) && stream.resetAtMs === undefined;
    stream.holder = {
      deviceId,
      keyId,
      get ended() {
        return !isPending();
      },
      keyRemoved: () => {
        if (!isPending()) return;
        logger.info(
          { deviceId, keyId },
          'a stream ends before its session began, because its key was removed',
        );
        this.refuse(stream, keyNotAccepted(clock, deviceId));
      },
    };
  }

  /** The keys of the streams whose token was accepted. */
  keyHolders(): KeyHolder[] {
    return [...this.#streams].flatMap(({ holder, resetAtMs }) =>
      holder && resetAtMs === undefined ? [holder] : [],
    );
  }

  /**
   * Waits for the first message, the hello; returns undefined if the stream ends first. Refuses an earlier stream of
   * the device that still waits for its hello. Throws StreamRefused if the first message is not a valid hello.
   */
  async hello(stream: PendingStream, deviceId: string): Promise<Hello | undefined> {
    const earlier = this.#awaited.get(deviceId);
    if (earlier && earlier.resetAtMs === undefined) this.#evict(earlier);
    stream.awaitsHello = true;
    this.#awaited.set(deviceId, stream);
    try {
      return await this.#firstMessage(stream);
    } finally {
      delete stream.awaitsHello;
      if (this.#awaited.get(deviceId) === stream) this.#awaited.delete(deviceId);
    }
  }

  /** Ends a stream with an error. Repeated calls have no effect. */
  refuse(stream: PendingStream, refused: StreamRefused): void {
    if (stream.resetAtMs !== undefined) return;
    stream.resetAtMs = this.#nowMs() + limits.closeGraceMs;
    if (stream.call.destroyed) return;
    this.#count(stream, refused);
    stream.call.emit('error', refused);
    // Further data of the headset is discarded, so that the stream can end.
    stream.call.resume();
  }

  /** Called about every second: refuses streams whose hello is late, and resets refused streams. */
  sweep(): void {
    const nowMs = this.#nowMs();
    for (const stream of this.#streams) {
      if (stream.resetAtMs === undefined ? stream.call.destroyed : stream.resetAtMs <= nowMs) {
        this.#streams.delete(stream);
        resetStream(stream.call);
      } else if (stream.resetAtMs === undefined && stream.deadlineMs <= nowMs) {
        this.refuse(
          stream,
          new StreamRefused('hello_missing', status.DEADLINE_EXCEEDED, 'No hello came in time.'),
        );
      }
    }
  }

  /** Refuses all pending streams when the instance stops. */
  drain(): void {
    for (const stream of this.#streams) this.refuse(stream, draining());
  }

  /**
   * Refuses the stream that waits longest for its hello if the limit is reached. Returns false if there is no such
   * stream.
   */
  #makeSpace(): boolean {
    const { sessionCount, maxSessions, maxWaiting } = this.#deps;
    if (sessionCount() + this.#streams.size < maxSessions + maxWaiting) return true;
    for (const stream of this.#streams) {
      if (!stream.awaitsHello || stream.resetAtMs !== undefined) continue;
      this.#evict(stream);
      return true;
    }
    return false;
  }

  /** Refuses a stream, and removes it at once, so that it does not count towards the limit. */
  #evict(stream: PendingStream): void {
    this.refuse(stream, streamUnavailable('crowded', 'Too many streams wait for a session.', 5000));
    this.#streams.delete(stream);
    this.#deps.time.setTimeout(() => resetStream(stream.call), limits.closeGraceMs).unref();
  }

  #firstMessage({ call }: PendingStream): Promise<Hello | undefined> {
    return new Promise((resolve, reject) => {
      const ended = () => resolve(undefined);
      call.once('cancelled', ended);
      call.once('end', ended);
      call.once('data', (message: Incoming) => {
        call.pause();
        call.removeListener('end', ended);
        call.removeListener('cancelled', ended);
        const refused = checkFirst(message);
        this.#deps.metrics.received(refused ? 'invalid' : 'hello');
        if (refused) reject(refused);
        else resolve((message as ConnectRequest).body.value as Hello);
      });
    });
  }

  #count({ call, holder }: PendingStream, { refusal, claimedDeviceId, details }: StreamRefused): void {
    const peer = call.getPeer();
    this.#deps.refused(refusal, {
      address: this.#deps.connections.addressOf(peer) ?? peer,
      deviceId: holder?.deviceId ?? claimedDeviceId,
      details,
    });
  }

  #nowMs(): number {
    return monotonicMs(this.#deps.clock);
  }
}

/** Returns the error of a first message that is not a valid hello. */
function checkFirst(message: Incoming): StreamRefused | undefined {
  if (message instanceof UnreadableMessage) return protocolError(message.reason);
  const { body } = message as ConnectRequest;
  if (body.case !== 'hello') return protocolError('the first message must be hello');
  const problem = checkHello(body.value);
  if (!problem) return undefined;
  return problem.kind === 'wrong-version'
    ? new StreamRefused('protocol', status.FAILED_PRECONDITION, problem.reason)
    : protocolError(problem.reason);
}

import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import { recordingBody } from '../domain/callbacks.ts';
import { archivesOf } from '../domain/recording.ts';
import { notification } from '../events/messages.ts';
import type { ConnectionStore } from '../ports/connection-store.ts';
import type { Claim, Recording } from '../ports/recording-store.ts';
import { ClaimLostError, type RunnerOptions, type RunOutcome, runRecording } from './runner.ts';

export interface RecordingWorkerOptions extends RunnerOptions {
  readonly connections: ConnectionStore;
  readonly log: EventLog;
  readonly drawClaim: () => string;
  readonly atOnce: number;
  readonly leaseMs: number;
  /** Longest delay of a recording; milliseconds. */
  readonly longestMs: number;
  /** Interval of the search for due recordings; milliseconds. */
  readonly intervalMs: number;
  /** Pause before a recording that could not continue is retried; milliseconds. */
  readonly pauseMs: number;
  readonly onEnd: (outcome: RunOutcome['end']) => void;
  readonly time?: Time;
}

/** Log message with the time since the claim was last confirmed. The crash test searches for it. */
export const uploadCut = 'the upload of a recording was interrupted';

const unsetMessage = 'Neither soraRecGetPresignedUrl nor soraRecGetMultiPresignedUrl is set.';

/**
 * Works on due recordings, a few at a time. Several instances share the work: an instance claims a recording for a
 * limited time and renews the claim while it works. After a crash the claim expires.
 */
export class RecordingWorker {
  readonly #o: RecordingWorkerOptions;
  readonly #repetition: Repetition;
  /** The running uploads. */
  readonly #running = new Map<Promise<void>, Recording>();
  readonly #stop = new AbortController();

  constructor(options: RecordingWorkerOptions) {
    this.#o = options;
    this.#repetition = repeat('the search for recordings', options.intervalMs, options.logger, () =>
      this.#fill(),
    );
  }

  start(): void {
    this.#repetition.start();
  }

  /** Starts the search for due recordings now. */
  wake(): void {
    this.#repetition.wake();
  }

  /** Aborts the running uploads; another instance continues them. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.#repetition.stop();
    await Promise.all(this.#running.keys());
  }

  async #fill(): Promise<number> {
    const { recordings, clock, leaseMs, longestMs, drawClaim, atOnce } = this.#o;
    await recordings.recall(clock.now() + 2 * longestMs, clock.now());
    while (this.#running.size < atOnce && !this.#stop.signal.aborted) {
      const claim = drawClaim();
      const nowMs = clock.now();
      const recording = await recordings.claimDue(nowMs, nowMs + leaseMs, claim, {
        applicationIds: this.#crowding(),
        // A claim that is renewed late is still valid, unless another instance has claimed the recording.
        recordingIds: [...this.#running.values()].map(({ recordingId }) => recordingId),
      });
      if (!recording) break;
      const work = this.#inTrace(recording, claim).finally(() => {
        this.#running.delete(work);
        this.wake();
      });
      this.#running.set(work, recording);
    }
    return 0;
  }

  /** Applications that use their whole share. A slow storage thus does not delay other applications' recordings. */
  #crowding(): string[] {
    const share = Math.ceil(this.#o.atOnce / 2);
    const counts = Map.groupBy(this.#running.values(), ({ applicationId }) => applicationId);
    return [...counts].filter(([, running]) => running.length >= share).map(([id]) => id);
  }

  /** Runs in the trace of the webhook that completed the recording. */
  #inTrace(recording: Recording, claim: string): Promise<void> {
    const { recordingId, traceparent } = recording;
    const work = () => this.#work(recording, { recordingId, claim });
    if (!traceparent) return work();
    return inSpan('recording upload', { kind: SpanKind.CONSUMER, parent: traceparent }, work);
  }

  async #work(recording: Recording, claim: Claim): Promise<void> {
    const { recordings, clock, leaseMs, logger, pauseMs, time = systemTime } = this.#o;
    const { recordingId } = claim;
    const lost = new AbortController();
    let heldAtMs = time.monotonicNow();
    const renewal = time.setInterval(() => {
      const askedAtMs = time.monotonicNow();
      recordings.renew(claim, clock.now() + leaseMs).then(
        (held) => {
          if (held) heldAtMs = askedAtMs;
          else lost.abort(new ClaimLostError());
        },
        (error) => logger.warn({ recordingId, err: error }, 'claim of a recording not renewed'),
      );
    }, leaseMs / 3);
    renewal.unref();
    try {
      if (!recording.notificationPending) {
        const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
        const outcome = await runRecording(this.#o, claim, signal);
        if (outcome.end === 'pause') {
          const nowMs = clock.now();
          return await recordings.release(claim, nowMs + (outcome.afterMs ?? pauseMs), nowMs);
        }
        await this.#end(claim, outcome);
      }
      await this.#notify(claim);
    } catch (error) {
      const nowMs = clock.now();
      if (this.#stop.signal.aborted) await recordings.release(claim, nowMs, nowMs).catch(() => {});
      // After the claim expires, the recording is claimed again.
      else {
        const heldMsAgo = Math.round(time.monotonicNow() - heldAtMs);
        logger.warn({ recordingId, heldMsAgo, leaseMs, err: error }, uploadCut);
      }
    } finally {
      time.clearTimer(renewal);
    }
  }

  async #end(claim: Claim, outcome: Exclude<RunOutcome, { end: 'pause' }>): Promise<void> {
    const { recordings, clock, onEnd, logger } = this.#o;
    const message = outcome.end === 'failed' ? outcome.message : outcome.end === 'unset' ? unsetMessage : '';
    const held = await recordings.change(claim, {
      state: outcome.end === 'saved' ? 'saved' : 'failed',
      message,
      endedAtMs: clock.now(),
      notificationPending: outcome.end !== 'unset',
    });
    if (!held) throw new ClaimLostError();
    onEnd(outcome.end);
    logger.info({ recordingId: claim.recordingId, outcome: outcome.end, message }, 'a recording has ended');
  }

  /**
   * Publishes the notification. Its id is derived from the recording, so repeats are one notification for the
   * integrator.
   */
  async #notify(claim: Claim): Promise<void> {
    const { recordings, connections, log, clock } = this.#o;
    const { recordingId } = claim;
    const recording = await recordings.get(recordingId);
    if (recording?.notificationPending) {
      const { applicationId, endedAtMs } = recording;
      const among = archivesOf(recording).map(({ connectionId }) => connectionId);
      const known = new Set(await connections.devices(among));
      // A recording with several headsets has no device.
      const deviceId = known.size === 1 ? ([...known][0] ?? null) : null;
      const body = recordingBody(recordingId, recording, deviceId);
      await log.publish(topics.notifications, [
        notification({
          ...{ id: `recording-${recordingId}`, applicationId, deviceId, body },
          ...{ destination: Destination.SORA_FILE_SEND_EVENT, orderKey: '', sequence: 0 },
          ...{ createdAtMs: endedAtMs, traceparent: currentTraceparent() || recording.traceparent },
        }),
      ]);
    }
    await recordings.finished(claim, clock.now());
  }
}

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
  /** Longest delay that this service sets for a recording; a later due time comes from a wrong clock. Milliseconds. */
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
  readonly #options: RecordingWorkerOptions;
  readonly #repetition: Repetition;
  /** The running uploads. */
  readonly #running = new Map<Promise<void>, Recording>();
  readonly #stop = new AbortController();

  constructor(options: RecordingWorkerOptions) {
    this.#options = options;
    this.#repetition = repeat('the search for recordings', options.intervalMs, options.logger, () =>
      this.#startUploads(),
    );
  }

  start(): void {
    this.#repetition.start();
  }

  /** Searches for due recordings now. */
  wake(): void {
    this.#repetition.wake();
  }

  /** Aborts the running uploads; another instance continues them. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.#repetition.stop();
    await Promise.all(this.#running.keys());
  }

  async #startUploads(): Promise<number> {
    const { recordings, clock, leaseMs, longestMs, drawClaim, atOnce } = this.#options;
    await recordings.resetFutureDueTimes(clock.now() + 2 * longestMs, clock.now());
    while (this.#running.size < atOnce && !this.#stop.signal.aborted) {
      const claim = drawClaim();
      const nowMs = clock.now();
      const recording = await recordings.claimDue(nowMs, nowMs + leaseMs, claim, {
        applicationIds: this.#applicationsAtLimit(),
        // Uploads that run here. If the claim of one was renewed late, the recording is due, but the upload continues.
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

  /**
   * Applications that use their whole share of this instance's uploads. The share is limited, so that a slow storage of
   * one application does not delay the recordings of others.
   */
  #applicationsAtLimit(): string[] {
    const share = Math.ceil(this.#options.atOnce / 2);
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
    const { recordings, clock, leaseMs, logger, pauseMs, time = systemTime } = this.#options;
    const { recordingId } = claim;
    const lost = new AbortController();
    let heldAtMs = time.monotonicNow();
    const renewal = time.setInterval(() => {
      const requestedAtMs = time.monotonicNow();
      recordings.renew(claim, clock.now() + leaseMs).then(
        (held) => {
          if (held) heldAtMs = requestedAtMs;
          else lost.abort(new ClaimLostError());
        },
        (error) => logger.warn({ recordingId, err: error }, 'claim of a recording not renewed'),
      );
    }, leaseMs / 3);
    renewal.unref();
    try {
      if (!recording.notificationPending) {
        const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
        const outcome = await runRecording(this.#options, claim, signal);
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
      // The recording is claimed again after the claim has expired.
      else {
        const heldMsAgo = Math.round(time.monotonicNow() - heldAtMs);
        logger.warn({ recordingId, heldMsAgo, leaseMs, err: error }, uploadCut);
      }
    } finally {
      time.clearTimer(renewal);
    }
  }

  async #end(claim: Claim, outcome: Exclude<RunOutcome, { end: 'pause' }>): Promise<void> {
    const { recordings, clock, onEnd, logger } = this.#options;
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
    const { recordings, connections, log, clock } = this.#options;
    const { recordingId } = claim;
    const recording = await recordings.get(recordingId);
    if (recording?.notificationPending) {
      const { applicationId, endedAtMs } = recording;
      const connectionIds = archivesOf(recording).map(({ connectionId }) => connectionId);
      const devices = new Set(await connections.devices(connectionIds));
      // A recording with several headsets has no device.
      const deviceId = devices.size === 1 ? ([...devices][0] ?? null) : null;
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

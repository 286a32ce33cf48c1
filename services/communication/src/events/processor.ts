import type { Clock } from '@headset-cloud/kit/clock.ts';
import { type EventLog, topics } from '@headset-cloud/kit/eventlog/types.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { Implausible } from '@headset-cloud/kit/outside-time.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/kit/telemetry.ts';
import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { soraEventBody } from '../domain/callbacks.ts';
import { isComplete, readRecordingNews } from '../domain/recording.ts';
import {
  meetingTime,
  notBilled,
  readSoraEvent,
  type SoraEvent,
  type SoraTime,
} from '../domain/sora-event.ts';
import type { EventStore, RecordingStore, StoredEvent } from '../ports.ts';
import type { ConnectionEffects, Known } from './effects.ts';
import { notification, videoUsage } from './messages.ts';

/** Most events in memory; others wait in the database for the sweeper. */
const mostInHand = 1000;
const sweepBatch = 100;
/** How many events before it an event looks back at: a channel of hours has thousands. */
const nearBefore = 100;

export interface EventProcessorOptions {
  readonly events: EventStore;
  readonly recordings: RecordingStore;
  readonly effects: ConnectionEffects;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a claim on an event lasts. */
  readonly claimMs: number;
  /** Longest delay of an event. */
  readonly longestMs: number;
  readonly recordingWaitMs: number;
  /** A time of Sora is not plausible and is not used. */
  readonly onTimeReplaced: (time: SoraTime, why: Implausible) => void;
  /** A recording is ready to be uploaded. */
  readonly onRecordingReady: () => void;
}

/**
 * Applies stored events and publishes the resulting callbacks and usage, in the order of each channel.
 * Every step is idempotent, so an event whose processing crashed is simply processed again.
 */
export class EventProcessor {
  readonly #deps: EventProcessorOptions;
  /** The last work of each channel's queue. */
  readonly #lines = new Map<string, Promise<void>>();
  #inHand = 0;

  constructor(deps: EventProcessorOptions) {
    this.#deps = deps;
  }

  /** Returns at once; after a failure the sweeper processes the event. */
  process(stored: StoredEvent): void {
    if (this.#inHand < mostInHand) void this.#inLine(stored);
  }

  /** Processes leftover events; returns how many. */
  async sweep(): Promise<number> {
    const { events, clock, claimMs, longestMs } = this.#deps;
    const nowMs = clock.now();
    await events.recall(nowMs + 2 * longestMs, nowMs);
    const due = await events.claimDue(nowMs, nowMs + claimMs, sweepBatch);
    await Promise.all(due.map((stored) => this.#inLine(stored)));
    return due.length;
  }

  /** Waits for the events in memory. */
  async drain(): Promise<void> {
    while (this.#lines.size > 0) await Promise.all(this.#lines.values());
  }

  #inLine(stored: StoredEvent): Promise<void> {
    const { channelId } = stored;
    this.#inHand += 1;
    const before = this.#lines.get(channelId) ?? Promise.resolve();
    const done = before
      .then(() => this.#handle(stored))
      .finally(() => {
        this.#inHand -= 1;
        if (this.#lines.get(channelId) === done) this.#lines.delete(channelId);
      });
    this.#lines.set(channelId, done);
    return done;
  }

  async #handle(stored: StoredEvent): Promise<void> {
    const { events, logger } = this.#deps;
    try {
      const event = this.#read(stored);
      // Earlier events that another instance has in hand, or that failed, go first: it keeps the channel's order, and
      // an archive event names no device, but its connection's events do.
      const from = event?.type.startsWith('archive.') ? 0 : stored.seq - nearBefore;
      for (const earlier of await events.undoneBefore(stored.channelId, stored.seq, from))
        await this.#apply(earlier, this.#read(earlier));
      await this.#apply(stored, event);
    } catch (error) {
      const { channelId, key } = stored;
      logger.warn(
        { channelId, key, err: error },
        'a Sora event is not processed yet; the sweeper tries again',
      );
    }
  }

  #read(stored: StoredEvent): SoraEvent | undefined {
    return readSoraEvent(JSON.parse(stored.body), stored, this.#deps.onTimeReplaced);
  }

  /** Runs in the webhook's trace, whichever instance finishes the work, and whenever. */
  #apply(stored: StoredEvent, event: SoraEvent | undefined): Promise<void> {
    const { traceparent } = stored;
    if (!traceparent) return this.#applyNow(stored, event);
    const options = { kind: SpanKind.CONSUMER, parent: traceparent };
    return inSpan('sora event process', options, () => this.#applyNow(stored, event));
  }

  async #applyNow(stored: StoredEvent, event: SoraEvent | undefined): Promise<void> {
    const { events, effects } = this.#deps;
    if (event) {
      const known = await effects.apply(stored, event);
      await this.#noteRecording(stored, event);
      await this.#publish(stored, event, known);
    }
    await events.done(stored.key);
  }

  async #noteRecording(stored: StoredEvent, event: SoraEvent): Promise<void> {
    const { recordings, clock, recordingWaitMs, onRecordingReady } = this.#deps;
    const news = readRecordingNews(event);
    if (!news) return;
    const { applicationId, channelId, endpointId } = stored;
    const nowMs = clock.now();
    const traceparent = traceOf(stored);
    const of = { applicationId, channelId, endpointId, traceparent };
    const recording = await recordings.note(news, of, nowMs, nowMs + recordingWaitMs);
    if (recording && isComplete(recording)) onRecordingReady();
  }

  async #publish(stored: StoredEvent, event: SoraEvent, known: Known): Promise<void> {
    const { log, logger } = this.#deps;
    const { applicationId, channelId } = stored;
    const { deviceId } = known;
    if (!event.forwarded) return;
    const traceparent = traceOf(stored);
    const callback = notification({
      ...{ id: `sora-${stored.key}`, applicationId, deviceId, destination: Destination.SORA_EVENT },
      ...{ orderKey: `sora-${channelId}`, sequence: stored.seq, createdAtMs: stored.arrivedAtMs },
      ...{ body: soraEventBody(applicationId, deviceId, event), traceparent },
    });
    const published = [log.publish(topics.notifications, [callback])];
    const { connectionId } = event;
    if (event.type === 'connection.destroyed' && connectionId !== null) {
      const time = meetingTime(event, known.createdAtMs);
      if (time) {
        const { isFirst, ...part } = notBilled(time, known.billedToMs);
        const usage = videoUsage({ connectionId, applicationId, deviceId, traceparent, isFirst, ...part });
        if (isFirst || part.durationMs > 0) published.push(log.publish(topics.usage, [usage]));
      } else logger.warn({ channelId, connectionId }, 'a connection of unknown length is not billed');
    }
    await Promise.all(published);
  }
}

/** The current span as parent for later work; without telemetry the webhook's own trace. */
function traceOf(stored: StoredEvent): string {
  return currentTraceparent() || stored.traceparent;
}

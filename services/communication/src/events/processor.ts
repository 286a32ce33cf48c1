import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Implausible } from '@headset-cloud/runtime/outside-time.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import { soraEventBody } from '../domain/callbacks.ts';
import { isComplete, readRecordingEvent } from '../domain/recording.ts';
import {
  meetingTime,
  readSoraEvent,
  type SoraEvent,
  type SoraTime,
  unbilledPart,
} from '../domain/sora-event.ts';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import type { RecordingStore } from '../ports/recording-store.ts';
import type { ConnectionEffects, ConnectionState } from './effects.ts';
import { notification, videoUsage } from './messages.ts';

/** Maximum events in memory; others wait in the database for the sweeper. */
const maxInMemory = 1000;
const sweepBatch = 100;
/**
 * Number of preceding sequence numbers that are searched for unfinished events, per event. A channel of several hours
 * has thousands of events.
 */
const earlierEventsChecked = 100;

export interface EventProcessorOptions {
  readonly events: EventStore;
  readonly recordings: RecordingStore;
  readonly effects: ConnectionEffects;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a claim on an event lasts. */
  readonly claimMs: number;
  /** Longest delay that this service sets for an event; a later due time comes from a wrong clock. Milliseconds. */
  readonly longestMs: number;
  readonly recordingWaitMs: number;
  /** Called when a time of Sora is not plausible and not used. */
  readonly onTimeReplaced: (time: SoraTime, why: Implausible) => void;
  /** Called when a recording is ready to be uploaded. */
  readonly onRecordingReady: () => void;
}

/**
 * Applies stored events and publishes the resulting callbacks and usage, in the order of each channel. Every step is
 * idempotent. An event whose processing crashed is processed again.
 */
export class EventProcessor {
  readonly #deps: EventProcessorOptions;
  /** The last promise of each channel's queue. */
  readonly #queues = new Map<string, Promise<void>>();
  #inMemory = 0;

  constructor(deps: EventProcessorOptions) {
    this.#deps = deps;
  }

  /** Returns at once. After a failure the sweeper processes the event. */
  process(stored: StoredEvent): void {
    if (this.#inMemory < maxInMemory) void this.#enqueue(stored);
  }

  /** Processes due events: after a failure, a crash, or if too many were in memory. Returns their number. */
  async sweep(): Promise<number> {
    const { events, clock, claimMs, longestMs } = this.#deps;
    const nowMs = clock.now();
    await events.resetFutureDueTimes(nowMs + 2 * longestMs, nowMs);
    const due = await events.claimDue(nowMs, nowMs + claimMs, sweepBatch);
    await Promise.all(due.map((stored) => this.#enqueue(stored)));
    return due.length;
  }

  /** Waits for the events in memory. */
  async drain(): Promise<void> {
    while (this.#queues.size > 0) await Promise.all(this.#queues.values());
  }

  #enqueue(stored: StoredEvent): Promise<void> {
    const { channelId } = stored;
    this.#inMemory += 1;
    const before = this.#queues.get(channelId) ?? Promise.resolve();
    const done = before
      .then(() => this.#handle(stored))
      .finally(() => {
        this.#inMemory -= 1;
        if (this.#queues.get(channelId) === done) this.#queues.delete(channelId);
      });
    this.#queues.set(channelId, done);
    return done;
  }

  async #handle(stored: StoredEvent): Promise<void> {
    const { events, logger } = this.#deps;
    try {
      const event = this.#read(stored);
      // Unfinished earlier events are applied first, to keep the channel's order. They have failed, or another
      // instance is processing them. An archive event names no device, so all earlier events of its connection are
      // needed.
      const from = event?.type.startsWith('archive.') ? 0 : stored.seq - earlierEventsChecked;
      for (const earlier of await events.undoneBefore(stored.channelId, stored.seq, from))
        await this.#apply(earlier, this.#read(earlier));
      await this.#apply(stored, event);
    } catch (error) {
      const { channelId, key } = stored;
      logger.warn({ channelId, key, err: error }, 'Sora event not processed, the sweeper retries');
    }
  }

  #read(stored: StoredEvent): SoraEvent | undefined {
    return readSoraEvent(JSON.parse(stored.body), stored, this.#deps.onTimeReplaced);
  }

  /** Applies the event in the trace of its webhook, also when the sweeper or another instance processes it. */
  #apply(stored: StoredEvent, event: SoraEvent | undefined): Promise<void> {
    const { traceparent } = stored;
    if (!traceparent) return this.#applyNow(stored, event);
    const options = { kind: SpanKind.CONSUMER, parent: traceparent };
    return inSpan('sora event process', options, () => this.#applyNow(stored, event));
  }

  async #applyNow(stored: StoredEvent, event: SoraEvent | undefined): Promise<void> {
    const { events, effects } = this.#deps;
    if (event) {
      const connection = await effects.apply(stored, event);
      await this.#addToRecording(stored, event);
      await this.#publish(stored, event, connection);
    }
    await events.done(stored.key);
  }

  async #addToRecording(stored: StoredEvent, event: SoraEvent): Promise<void> {
    const { recordings, clock, recordingWaitMs, onRecordingReady } = this.#deps;
    const recordingEvent = readRecordingEvent(event);
    if (!recordingEvent) return;
    const { applicationId, channelId, endpointId } = stored;
    const nowMs = clock.now();
    const traceparent = traceOf(stored);
    const of = { applicationId, channelId, endpointId, traceparent };
    const recording = await recordings.addEvent(recordingEvent, of, nowMs, nowMs + recordingWaitMs);
    if (recording && isComplete(recording)) onRecordingReady();
  }

  async #publish(stored: StoredEvent, event: SoraEvent, connection: ConnectionState): Promise<void> {
    const { log, logger } = this.#deps;
    const { applicationId, channelId } = stored;
    const { deviceId } = connection;
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
      const time = meetingTime(event, connection.createdAtMs);
      if (time) {
        const { isFirst, ...part } = unbilledPart(time, connection.billedToMs);
        const usage = videoUsage({ connectionId, applicationId, deviceId, traceparent, isFirst, ...part });
        if (isFirst || part.durationMs > 0) published.push(log.publish(topics.usage, [usage]));
      } else logger.warn({ channelId, connectionId }, 'a connection of unknown length is not billed');
    }
    await Promise.all(published);
  }
}

/** The current span as parent for later work; without telemetry the webhook's trace. */
function traceOf(stored: StoredEvent): string {
  return currentTraceparent() || stored.traceparent;
}

import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Implausible } from '@headset-cloud/runtime/outside-time.ts';
import { setAllOrLeaveOut, sharedRead } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { takenAt } from './domain/places.ts';
import type { SoraTime } from './domain/sora-event.ts';
import type { EndpointStore } from './ports/endpoint-store.ts';
import { openRecordingStates, type RecordingStore } from './ports/recording-store.ts';
import type { UploadResult } from './ports/uploader.ts';
import type { RunOutcome } from './recordings/runner.ts';
import type { Receipt } from './webhook/receive.ts';

export interface CommunicationMetrics {
  webhook(outcome: Receipt | 'refused'): void;
  /** Counts a recording that has ended. */
  recording(outcome: RunOutcome['end']): void;
  /** Counts an attempt to send a part or a whole file. */
  sent(outcome: UploadResult['outcome'], bytes: number): void;
  /** Counts a connection that was billed without a 'destroyed' event. */
  silentConnection(): void;
  /** Counts a time of Sora that is not plausible and not used (rule A24). */
  timeReplaced(time: SoraTime, why: Implausible): void;
  /** Counts a call for a channel. `error`: the reason if there is no channel. */
  channel(error?: unknown): void;
}

/** Metrics of this service: counters, and gauges that are read from the database at each scrape. */
export function createMetrics(
  registry: Registry,
  sources: {
    endpoints: Pick<EndpointStore, 'enabled'>;
    recordings: Pick<RecordingStore, 'backlog'>;
    clock: Clock;
  },
): CommunicationMetrics {
  const { clock } = sources;
  const registers = [registry];
  const backlog = sharedRead(() => sources.recordings.backlog());
  const endpoints = sharedRead(() => sources.endpoints.enabled());

  new Gauge({
    name: 'headset_recordings_open',
    help: 'Recordings that have not ended, by state: waiting (for events of Sora), uploading, untold (ended, its notification is not published yet). Whole platform: use max, not sum.',
    ...{ labelNames: ['state'], registers },
    async collect() {
      await setAllOrLeaveOut(this, async () => {
        const open = await backlog();
        return openRecordingStates.map((state) => [{ state }, open[state].count]);
      });
    },
  });
  new Gauge({
    name: 'headset_recordings_oldest_open_age_seconds',
    help: 'Age of the oldest such recording, since its first event; 0 when there is none. Whole platform: use max, not sum.',
    ...{ labelNames: ['state'], registers },
    async collect() {
      await setAllOrLeaveOut(this, async () => {
        const open = await backlog();
        return openRecordingStates.map((state) => {
          const at = open[state].oldestCreatedAtMs;
          return [{ state }, at === undefined ? 0 : Math.max(0, clock.now() - at) / 1000];
        });
      });
    },
  });
  new Gauge({
    name: 'headset_sora_connections_used',
    help: 'Used connections of each Sora endpoint that accepts channels: reservations and connections. Whole platform: use max, not sum.',
    ...{ labelNames: ['endpoint'], registers },
    async collect() {
      await setAllOrLeaveOut(this, async () =>
        (await endpoints()).map(({ endpointId, places }) => [
          { endpoint: endpointId },
          takenAt(places, clock.now()),
        ]),
      );
    },
  });
  new Gauge({
    name: 'headset_sora_connections_limit',
    help: 'Connection limit of each Sora endpoint that accepts channels. Whole platform: use max, not sum.',
    ...{ labelNames: ['endpoint'], registers },
    async collect() {
      await setAllOrLeaveOut(this, async () =>
        (await endpoints()).map(({ endpointId, connectionLimit }) => [
          { endpoint: endpointId },
          connectionLimit,
        ]),
      );
    },
  });
  const webhooks = new Counter({
    name: 'headset_sora_webhooks_total',
    help: "Sora's webhooks by outcome: stored, repeated, unknown_channel, refused.",
    ...{ labelNames: ['outcome'], registers },
  });
  const runs = new Counter({
    name: 'headset_recordings_ended_total',
    help: 'Recordings that have ended, by their end: saved, failed, unset (no setting for recordings is set).',
    ...{ labelNames: ['outcome'], registers },
  });
  // Starts each outcome at 0, because increase() ignores a series that begins with its first event.
  for (const outcome of ['saved', 'failed', 'unset']) runs.inc({ outcome }, 0);
  const parts = new Counter({
    name: 'headset_recording_parts_total',
    help: 'Attempts to send a part or a whole file, by outcome: stored, missing, refused, forbidden, failed.',
    ...{ labelNames: ['outcome'], registers },
  });
  const bytes = new Counter({
    name: 'headset_recording_stored_bytes_total',
    help: "Bytes of recordings that integrators' storages have accepted.",
    registers,
  });
  const channels = new Counter({
    name: 'headset_channels_total',
    help: 'Calls for a channel, by outcome: created, or the error: unavailable (every endpoint is full, or the database is unavailable), invalid_body (unknown version), internal.',
    ...{ labelNames: ['outcome'], registers },
  });
  const silent = new Counter({
    name: 'headset_sora_silent_connections_billed_total',
    help: "Connections that were billed until their last event, because no 'destroyed' event came.",
    registers,
  });
  const replaced = new Counter({
    name: 'headset_sora_times_replaced_total',
    help: "Times in Sora's webhooks that were not used, by time (event, created, destroyed, minutes) and reason: past (before the channel was created), future. Many mean that Sora's clock is wrong.",
    ...{ labelNames: ['time', 'reason'], registers },
  });
  return {
    timeReplaced: (time, reason) => replaced.inc({ time, reason }),
    silentConnection: () => silent.inc(),
    webhook: (outcome) => webhooks.inc({ outcome }),
    recording: (outcome) => runs.inc({ outcome }),
    sent(outcome, size) {
      parts.inc({ outcome });
      if (outcome === 'stored') bytes.inc(size);
    },
    channel(error) {
      if (error === undefined) channels.inc({ outcome: 'created' });
      else channels.inc({ outcome: error instanceof DomainError ? error.code : 'internal' });
    },
  };
}

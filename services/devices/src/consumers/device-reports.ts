import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/eventlog/types.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { plausibleTime } from '@headset-cloud/runtime/outside-time.ts';
import { activatedAtMs } from '../domain/association.ts';
import type { DevicesMetrics } from '../metrics.ts';
import type { DeviceReader } from '../ports/device-reader.ts';
import type { ReportStore } from '../ports/report-store.ts';
import {
  type KnownDevices,
  publishReportEvents,
  type Received,
  type ReportEventsDependencies,
} from './report-events.ts';
import { reportedStates } from './reported-state.ts';
import { sessionChange } from './session-events.ts';

/** The consumer group. The service gets each report once, or again after a crash. */
export const deviceReportsGroup = 'devices';

/**
 * Stores headsets' reports about themselves, and publishes the resulting notifications and usage. Both steps are
 * idempotent. One query reads all devices of a batch. Resolves when everything is stored, so that the group's offset
 * can be committed.
 */
export function deviceReportsHandler(
  deps: ReportEventsDependencies & {
    readonly reader: Pick<DeviceReader, 'knownDevices'>;
    readonly store: ReportStore;
  },
): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const decoded = events.map((event) => decodeEvent(DeviceReportEventSchema, event));
    const known = await deps.reader.knownDevices([...new Set(decoded.map(({ deviceId }) => deviceId))]);
    for (const event of decoded) checkTime(event, known, deps.metrics);
    const states = reportedStates(decoded);
    const arrivals = decoded.flatMap((event, n) => received(event, events[n]?.headers['traceparent']));
    const published = publishReportEvents(deps, arrivals, known);
    // A change of the network status is found by comparison with the stored status. Its notification is published
    // before the new status is stored, so that a crash between the two steps does not lose the notification.
    if (arrivals.some((one) => 'change' in one)) await published;
    await Promise.all([states.length > 0 && deps.store.store(states), published]);
    for (const { body } of decoded) {
      const kind = body.case === 'report' ? body.value.body.case : body.case;
      deps.metrics.reports.inc({ kind: kind ?? 'unknown' });
    }
  };
}

/** Replaces a report's time that is not plausible in its activation (rule A24). */
function checkTime(
  { deviceId, receivedAtMs, body }: DeviceReportEvent,
  known: KnownDevices,
  metrics: DevicesMetrics,
): void {
  if (body.case !== 'report') return;
  const report = body.value;
  const notBeforeMs = activatedAtMs(known.get(deviceId), Number(report.activationEpoch));
  const times = { notBeforeMs, arrivedAtMs: Number(receivedAtMs) };
  const atMs = plausibleTime(Number(report.occurredAtMs), times, (reason) =>
    metrics.timesReplaced.inc({ time: 'report', reason }),
  );
  report.occurredAtMs = BigInt(atMs);
}

function received(event: DeviceReportEvent, traceparent = ''): Received[] {
  const { deviceId, receivedAtMs, body } = event;
  const common = { deviceId, receivedAtMs: Number(receivedAtMs), traceparent };
  if (body.case === 'report') return [{ ...common, report: body.value }];
  const change = sessionChange(event);
  return change ? [{ ...common, change }] : [];
}

import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { ReportStore } from '../ports.ts';
import { publishReportEvents, type Received, type ReportEventsDependencies } from './report-events.ts';
import { reportedStates } from './reported-state.ts';
import { sessionChange } from './session-events.ts';

/** The consumer group: each report reaches this service once, and again after a crash. */
export const deviceReportsGroup = 'devices';

/**
 * Stores headsets' reports about themselves and publishes the notifications and usage that follow; both are
 * idempotent. Resolves when everything is durable; then the group's offset moves.
 */
export function deviceReportsHandler(
  deps: ReportEventsDependencies & { readonly store: ReportStore; readonly failpoints: Failpoints },
): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const decoded = events.map((event) => decodeEvent(DeviceReportEventSchema, event));
    const states = reportedStates(decoded);
    const told = decoded.flatMap((event, n) => received(event, events[n]?.headers['traceparent']));
    const published = publishReportEvents(deps, told);
    // A change of the network status can only be found by comparison with the stored status. It is
    // published before the new status is stored, so that a crash in between cannot lose it.
    if (told.some((one) => 'change' in one)) await published;
    await Promise.all([states.length > 0 && deps.store.store(states), published]);
    deps.failpoints('devices.reports-published');
    for (const { body } of decoded) {
      const kind = body.case === 'report' ? body.value.body.case : body.case;
      deps.metrics.reports.inc({ kind: kind ?? 'unknown' });
    }
  };
}

function received(event: DeviceReportEvent, traceparent = ''): Received[] {
  const { deviceId, receivedAtMs, body } = event;
  const common = { deviceId, receivedAtMs: Number(receivedAtMs), traceparent };
  if (body.case === 'report') return [{ ...common, report: body.value }];
  const change = sessionChange(event);
  return change ? [{ ...common, change }] : [];
}

import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import type { LogEvent } from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import type { ReportStore } from '../ports.ts';
import { publishReportEvents, type ReceivedReport, type ReportEventsDependencies } from './report-events.ts';
import { reportedStates } from './reported-state.ts';

/** The consumer group: each report reaches this service once, or again after a crash. */
export const deviceReportsGroup = 'devices';

/**
 * Keeps what headsets report of themselves and publishes what others are to hear of it; both are
 * idempotent. Resolves, and so lets the group go on, when everything is durable.
 */
export function deviceReportsHandler(
  deps: ReportEventsDependencies & { readonly store: ReportStore; readonly failpoints: Failpoints },
): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const decoded = events.map((event) => decodeEvent(DeviceReportEventSchema, event));
    const states = reportedStates(decoded);
    const received = decoded.flatMap((event, n) => receivedReport(event, events[n]?.headers['traceparent']));
    await Promise.all([states.length > 0 && deps.store.store(states), publishReportEvents(deps, received)]);
    deps.failpoints('devices.reports-published');
    for (const { body } of decoded) {
      const kind = body.case === 'report' ? body.value.body.case : body.case;
      deps.metrics.reports.inc({ kind: kind ?? 'unknown' });
    }
  };
}

function receivedReport(
  { deviceId, receivedAtMs, body }: DeviceReportEvent,
  traceparent = '',
): ReceivedReport[] {
  if (body.case !== 'report') return [];
  return [{ deviceId, receivedAtMs: Number(receivedAtMs), traceparent, report: body.value }];
}

import { fromBinary } from '@bufbuild/protobuf';
import { type LogEvent, PoisonEventError } from '@headset-cloud/kit/eventlog/types.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/headset/device_link/v1/events_pb.ts';
import { datedFields, type Introduction, newerFields, type ReportedFields } from '../domain/reported.ts';
import type { DeviceReports, ReportStore } from '../ports.ts';

/** The consumer group: each report reaches this service once, or again after a crash. */
export const deviceReportsGroup = 'devices';

/**
 * Keeps what headsets report of themselves. Results and apps' answers belong to transactions and
 * cause no write here. Several reports of a device in one batch become one.
 */
export function deviceReportsHandler(store: ReportStore): (events: readonly LogEvent[]) => Promise<void> {
  return async (events) => {
    const byDevice = new Map<string, DeviceReports>();
    for (const event of events) {
      const reports = readReports(event);
      if (!reports) continue;
      const earlier = byDevice.get(reports.deviceId);
      byDevice.set(reports.deviceId, earlier ? merge(earlier, reports) : reports);
    }
    if (byDevice.size > 0) await store.store([...byDevice.values()]);
  };
}

/** Undefined: nothing for this service. Throws PoisonEventError for what is no report. */
function readReports(event: LogEvent): DeviceReports | undefined {
  let report: DeviceReportEvent;
  try {
    report = fromBinary(DeviceReportEventSchema, event.value);
  } catch (cause) {
    throw new PoisonEventError(event, 'The event is no DeviceReportEvent.', { cause });
  }
  const { deviceId } = report;
  if (report.body.case === 'hello') {
    return { deviceId, fields: {}, introduction: introduction(report) };
  }
  if (report.body.case !== 'report' || report.body.value.body.case !== 'stateChange') return undefined;
  const { occurredAtMs, body } = report.body.value;
  const fields = datedFields(body.value, Number(occurredAtMs), Number(report.receivedAtMs));
  return { deviceId, fields };
}

function introduction({ sessionEpoch, body }: DeviceReportEvent): Introduction | undefined {
  if (body.case !== 'hello') return undefined;
  const hello = body.value;
  return {
    sessionEpoch: Number(sessionEpoch),
    clientVersion: hello.clientVersion,
    firmwareVersion: hello.firmwareVersion,
    apps: hello.apps.map((app) => ({ package: app.package, version: app.version })),
    languages: hello.languages,
    macAddressWifi: hello.hardware?.macAddressWifi ?? '',
    macAddressBluetooth: hello.hardware?.macAddressBluetooth ?? '',
    modelIdentifier: hello.hardware?.modelIdentifier ?? '',
  };
}

function merge(earlier: DeviceReports, later: DeviceReports): DeviceReports {
  const fields: ReportedFields = newerFields(earlier.fields, later.fields);
  const introduced = [earlier.introduction, later.introduction]
    .filter((one) => one !== undefined)
    .reduce<Introduction | undefined>(
      (newest, one) => (newest && newest.sessionEpoch > one.sessionEpoch ? newest : one),
      undefined,
    );
  return { deviceId: later.deviceId, fields, ...(introduced && { introduction: introduced }) };
}

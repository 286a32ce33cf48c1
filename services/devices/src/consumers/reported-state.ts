import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import {
  datedFields,
  type Introduction,
  type Inventory,
  newerFields,
  occurrence,
} from '../domain/reported.ts';
import type { DeviceReports } from '../ports.ts';

/** What a batch says of the devices' own state: one entry for each device. */
export function reportedStates(events: readonly DeviceReportEvent[]): DeviceReports[] {
  const byDevice = new Map<string, DeviceReports>();
  for (const event of events) {
    const reports = readReports(event);
    if (!reports) continue;
    const earlier = byDevice.get(reports.deviceId);
    byDevice.set(reports.deviceId, earlier ? merge(earlier, reports) : reports);
  }
  return [...byDevice.values()];
}

/** Undefined: nothing of the device's state. */
function readReports(event: DeviceReportEvent): DeviceReports | undefined {
  const { deviceId, body } = event;
  if (body.case === 'hello') return { deviceId, fields: {}, introduction: introduction(event, body.value) };
  if (body.case !== 'report') return undefined;
  const report = body.value;
  const atMs = occurrence(Number(report.occurredAtMs), Number(event.receivedAtMs));
  switch (report.body.case) {
    case 'stateChange':
      return { deviceId, fields: datedFields(report.body.value, atMs) };
    case 'inventory':
      return {
        deviceId,
        fields: {},
        inventory: { reportId: Number(report.reportId), atMs, ...software(report.body.value) },
      };
    default:
      return undefined;
  }
}

type Hello = Extract<DeviceReportEvent['body'], { case: 'hello' }>['value'];

function introduction({ sessionEpoch, receivedAtMs }: DeviceReportEvent, hello: Hello): Introduction {
  return {
    sessionEpoch: Number(sessionEpoch),
    atMs: Number(receivedAtMs),
    clientVersion: hello.clientVersion,
    ...software(hello),
    macAddressWifi: hello.hardware?.macAddressWifi ?? '',
    macAddressBluetooth: hello.hardware?.macAddressBluetooth ?? '',
    modelIdentifier: hello.hardware?.modelIdentifier ?? '',
  };
}

function software({
  firmwareVersion,
  apps,
  languages,
}: Pick<Hello, 'firmwareVersion' | 'apps' | 'languages'>) {
  return {
    firmwareVersion,
    apps: apps.map((app) => ({ package: app.package, version: app.version })),
    languages,
  };
}

function merge(earlier: DeviceReports, later: DeviceReports): DeviceReports {
  const introduced = newest<Introduction>(
    earlier.introduction,
    later.introduction,
    (one) => one.sessionEpoch,
  );
  const inventory = newest<Inventory>(earlier.inventory, later.inventory, (one) => one.reportId);
  return {
    deviceId: later.deviceId,
    fields: newerFields(earlier.fields, later.fields),
    ...(introduced && { introduction: introduced }),
    ...(inventory && { inventory }),
  };
}

function newest<T>(earlier: T | undefined, later: T | undefined, order: (one: T) => number): T | undefined {
  if (!earlier || !later) return later ?? earlier;
  return order(earlier) > order(later) ? earlier : later;
}

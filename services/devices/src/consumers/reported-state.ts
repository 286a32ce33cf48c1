import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { datedFields, type Introduction, newerFields, newerInventory } from '../domain/reported.ts';
import type { DeviceReports, IntroducedEpoch } from '../ports/report-store.ts';
import { offlineChange } from './session-events.ts';

/**
 * The state of the devices as reported in a batch: one entry for each device. Requires reports with checked times (rule
 * A24).
 */
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

/** Undefined if the event reports nothing about the device's state. */
function readReports(event: DeviceReportEvent): DeviceReports | undefined {
  const { deviceId, body } = event;
  if (body.case === 'hello') {
    return {
      deviceId,
      fields: {},
      introduction: introduction(event, body.value),
      introducedEpoch: introducedEpoch(event, body.value),
    };
  }
  if (body.case === 'offline') {
    const { sessionEpoch, atMs } = offlineChange(event, body.value);
    return { deviceId, fields: {}, offline: { sessionEpoch, atMs } };
  }
  if (body.case !== 'report') return undefined;
  const report = body.value;
  const moment = {
    reportId: Number(report.reportId),
    atMs: Number(report.occurredAtMs),
    epoch: Number(report.activationEpoch),
  };
  switch (report.body.case) {
    case 'stateChange':
      return { deviceId, fields: datedFields(report.body.value, moment) };
    case 'inventory':
      return {
        deviceId,
        fields: {},
        inventory: {
          ...moment,
          sessionEpoch: Number(event.sessionEpoch),
          ...software(report.body.value),
        },
      };
    default:
      return undefined;
  }
}

type Hello = Extract<DeviceReportEvent['body'], { case: 'hello' }>['value'];

/** The activation epoch of a hello: the device's epoch, or the headset's own if the device's could not be read. */
function introducedEpoch({ activationEpoch }: DeviceReportEvent, hello: Hello): IntroducedEpoch {
  return activationEpoch > 0n
    ? { read: Number(activationEpoch) }
    : { read: 0, claimed: Number(hello.activationEpoch) };
}

function introduction(
  { sessionEpoch, receivedAtMs, sharedIdentity }: DeviceReportEvent,
  hello: Hello,
): Introduction {
  return {
    sessionEpoch: Number(sessionEpoch),
    atMs: Number(receivedAtMs),
    ...(hello.lastReportId !== undefined && { lastReportId: Number(hello.lastReportId) }),
    ...(sharedIdentity && { sharedIdentity }),
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
  const introducedEpoch = mergeEpochs(earlier.introducedEpoch, later.introducedEpoch);
  const inventory =
    earlier.inventory && later.inventory
      ? newerInventory(earlier.inventory, later.inventory)
      : (later.inventory ?? earlier.inventory);
  const offline = newest(earlier.offline, later.offline, (one) => one.sessionEpoch);
  return {
    deviceId: later.deviceId,
    fields: newerFields(earlier.fields, later.fields),
    ...(introduced && { introduction: introduced }),
    ...(introducedEpoch && { introducedEpoch }),
    ...(inventory && { inventory }),
    ...(offline && { offline }),
  };
}

function mergeEpochs(
  earlier: IntroducedEpoch | undefined,
  later: IntroducedEpoch | undefined,
): IntroducedEpoch | undefined {
  if (!earlier || !later) return later ?? earlier;
  const claimed = Math.max(earlier.claimed ?? 0, later.claimed ?? 0);
  return { read: Math.max(earlier.read, later.read), ...(claimed > 0 && { claimed }) };
}

function newest<T>(earlier: T | undefined, later: T | undefined, order: (one: T) => number): T | undefined {
  if (!earlier || !later) return later ?? earlier;
  return order(earlier) > order(later) ? earlier : later;
}

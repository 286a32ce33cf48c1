import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DeviceStatusSchema } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { networkStatus, type Presence } from './domain/network-status.ts';
import { presenceOf, readableSince, reportedSoftware } from './domain/reported.ts';
import type { DeviceWithReport } from './ports/device-reader.ts';

/** The device's state that its current application may read (rule A7). */
export function readableStatus(device: DeviceWithReport): MessageInitShape<typeof DeviceStatusSchema> {
  const { deviceId, activation, reported } = device;
  // The cloud itself observes the network status, so the status does not depend on an activation (rule A7).
  return deviceStatus(
    { deviceId, reported: activation ? readableSince(reported, activation.sinceEpoch) : {} },
    presenceOf(reported),
  );
}

/** A device's reported state as a message; unknown fields are absent. */
export function deviceStatus(
  { deviceId, reported }: Pick<DeviceWithReport, 'deviceId' | 'reported'>,
  presence: Presence,
): MessageInitShape<typeof DeviceStatusSchema> {
  const { power, wearing, charging, battery, location } = reported;
  const network = networkStatus(presence);
  const software = reportedSoftware(reported);
  const ms = (dated: { atMs?: number } | undefined) =>
    dated?.atMs === undefined ? undefined : BigInt(dated.atMs);
  return {
    deviceId,
    power: power?.value,
    wearing: wearing?.value,
    network: network.status,
    charging: charging?.value,
    batteryPercentage: battery?.value,
    latitude: location?.value.latitude,
    longitude: location?.value.longitude,
    firmwareVersion: software?.firmwareVersion || undefined,
    apps: software?.apps.map((app) => ({ package: app.package, version: app.version })) ?? [],
    languages: [...(software?.languages ?? [])],
    powerUpdatedAtMs: ms(power),
    wearingUpdatedAtMs: ms(wearing),
    networkUpdatedAtMs: ms(network),
    chargingUpdatedAtMs: ms(charging),
    batteryUpdatedAtMs: ms(battery),
    locationUpdatedAtMs: ms(location),
    reported: software !== undefined,
  };
}

import { type Field, fields } from '@headset-cloud/cli/output.ts';
import type { Device } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { DeviceStatus } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { time } from '../output.ts';

/** The fields of one device, one per line. Reported fields exist only after the headset's first session. */
export function deviceText(device: Device | undefined): string {
  if (!device) return '';
  return fields([
    ['device', device.deviceId],
    ['activated by', device.applicationId],
    ['destination', device.specificDestination],
    ['client version', device.clientVersion],
    ['keys', device.keyIds],
    ...(device.sharedIdentity ? [['identity', 'probably used by two headsets'] satisfies Field] : []),
    ...(device.status ? reported(device.status, device) : []),
  ]);
}

function reported(status: DeviceStatus, { headsetNetwork, headsetNetworkAtMs }: Device): Field[] {
  const { power, wearing, network, charging, batteryPercentage, latitude, longitude } = status;
  return [
    ['firmware', status.firmwareVersion ?? ''],
    ['languages', status.languages.join(', ')],
    ['apps', status.apps.map((app) => `${app.package} ${app.version}`)],
    ['power', dated(power, status.powerUpdatedAtMs)],
    ['wearing', dated(wearing, status.wearingUpdatedAtMs)],
    ['network', dated(network, status.networkUpdatedAtMs)],
    ['headset network', dated(headsetNetwork, headsetNetworkAtMs)],
    ['charging', dated(charging, status.chargingUpdatedAtMs)],
    [
      'battery',
      dated(
        batteryPercentage === undefined ? undefined : `${batteryPercentage} %`,
        status.batteryUpdatedAtMs,
      ),
    ],
    [
      'location',
      dated(latitude === undefined ? undefined : `${latitude}, ${longitude}`, status.locationUpdatedAtMs),
    ],
  ];
}

function dated(text: string | undefined, atMs: bigint | undefined): string {
  return text === undefined ? '' : `${text}  (${time(atMs ?? 0n)})`;
}

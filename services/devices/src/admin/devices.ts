import { namesOf } from '@headset-cloud/rules/audit/record.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { deviceStatus } from '../device-status.ts';
import { requireSpecificDestination } from '../domain/hardware.ts';
import { pageSize, requireDeviceId } from '../domain/provisioning.ts';
import { presenceOf } from '../domain/reported.ts';
import type { RegisteredDevice } from '../ports/device-registry.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** The registry of devices. */
export function deviceHandlers({
  registry,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'putDevice' | 'getDevice' | 'listDevices'> {
  async function show(deviceId: string) {
    const device = await registry.get(requireDeviceId(deviceId));
    if (!device) throw unknownDevice(deviceId);
    const { introduction, network } = device.reported;
    const status = introduction && deviceStatus(device, presenceOf(device.reported));
    const headsetNetwork = network && {
      headsetNetwork: network.value,
      headsetNetworkAtMs: BigInt(network.atMs),
    };
    const sharedIdentity = introduction?.sharedIdentity ?? false;
    return { device: { ...message(device), ...(status && { status }), ...headsetNetwork, sharedIdentity } };
  }
  return {
    async putDevice({ deviceId, specificDestination }) {
      requireDeviceId(deviceId);
      const destination =
        specificDestination === undefined ? undefined : requireSpecificDestination(specificDestination);
      const fields = namesOf({ specificDestination: destination });
      await audit.change({ deviceId, fields }, (record) => registry.put(deviceId, destination, record));
      return show(deviceId);
    },
    getDevice: ({ deviceId }) => show(deviceId),
    async listDevices({ afterDeviceId, limit }) {
      const devices = await registry.list(afterDeviceId, pageSize(limit));
      return { devices: devices.map(message) };
    },
  };
}

/** Error for a device that no operator has registered. */
export function unknownDevice(deviceId: string): DomainError {
  return new DomainError(
    'not_found',
    `The device ${deviceId} is not registered. Register it: ctl devices put ${deviceId}`,
  );
}

/** The message of a device, without the reported state. */
function message(device: RegisteredDevice) {
  const { deviceId, keyIds, applicationId, specificDestination, clientVersion } = device;
  return {
    deviceId,
    keyIds: [...keyIds],
    activated: applicationId !== undefined,
    applicationId: applicationId ?? '',
    specificDestination: specificDestination ?? '',
    clientVersion,
  };
}

import { DomainError } from '@headset-cloud/kit/errors.ts';
import { pageSize, requireDeviceId } from '../domain/provisioning.ts';
import type { RegisteredDevice } from '../ports.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** The registry of devices. */
export function deviceHandlers({
  registry,
}: AdminDependencies): Pick<AdminHandlers, 'putDevice' | 'getDevice' | 'listDevices'> {
  async function show(deviceId: string) {
    const device = await registry.get(requireDeviceId(deviceId));
    if (!device) throw unknownDevice(deviceId);
    return { device: message(device) };
  }
  return {
    async putDevice({ deviceId }) {
      await registry.register([requireDeviceId(deviceId)]);
      return show(deviceId);
    },
    getDevice: ({ deviceId }) => show(deviceId),
    async listDevices({ afterDeviceId, limit }) {
      const devices = await registry.list(afterDeviceId, pageSize(limit));
      return { devices: devices.map(message) };
    },
  };
}

/** An operator named a device that was never put. */
export function unknownDevice(deviceId: string): DomainError {
  return new DomainError('not_found', `The device ${deviceId} is not registered. Put it first.`);
}

function message({ deviceId, keyIds, applicationId }: RegisteredDevice) {
  return {
    deviceId,
    keyIds: [...keyIds],
    activated: applicationId !== undefined,
    applicationId: applicationId ?? '',
  };
}

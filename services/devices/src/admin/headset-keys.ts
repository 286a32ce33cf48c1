import { DomainError } from '@headset-cloud/kit/errors.ts';
import { readHeadsetKey } from '../domain/headset-key.ts';
import { requireDeviceId } from '../domain/provisioning.ts';
import { mostKeys } from '../store/devices.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';
import { unknownDevice } from './devices.ts';

/** The public keys that headsets sign with (rule C6). */
export function headsetKeyHandlers({
  registry,
}: AdminDependencies): Pick<AdminHandlers, 'addHeadsetKey' | 'removeHeadsetKey'> {
  return {
    async addHeadsetKey({ deviceId, publicKeyPem }) {
      const key = readHeadsetKey(publicKeyPem);
      if (!(await registry.addKey(requireDeviceId(deviceId), key))) {
        if (!(await registry.get(deviceId))) throw unknownDevice(deviceId);
        throw new DomainError(
          'conflict',
          `The device ${deviceId} has ${mostKeys} keys, the most it may have. Remove one first.`,
        );
      }
      return { keyId: key.keyId };
    },
    async removeHeadsetKey({ deviceId, keyId }) {
      if (!(await registry.removeKey(requireDeviceId(deviceId), keyId))) {
        throw new DomainError('not_found', `The device ${deviceId} has no key ${keyId}.`);
      }
      return {};
    },
  };
}

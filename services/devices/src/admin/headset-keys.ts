import { namesOf } from '@headset-cloud/rules/audit/record.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { maxKeys, readHeadsetKey } from '../domain/headset-key.ts';
import { requireDeviceId, requireId, requireName } from '../domain/provisioning.ts';
import type { ListedKey } from '../ports/headset-key-store.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';
import { unknownDevice } from './devices.ts';

/** Maximum devices whose keys one call lists or removes. */
const pageOfDevices = 100;

/** The public keys of headsets, which sign their tokens with the private keys (rule C6). */
export function headsetKeyHandlers({
  keys,
  registry,
  applications,
  clock,
  audit,
}: AdminDependencies): Pick<
  AdminHandlers,
  'addHeadsetKey' | 'removeHeadsetKey' | 'listHeadsetKeys' | 'removeAllHeadsetKeys'
> {
  async function ofDevice(deviceId: string) {
    const found = await keys.list(requireDeviceId(deviceId));
    if (!found) throw unknownDevice(deviceId);
    return found;
  }
  const removeKey = (deviceId: string, keyId: string) =>
    audit.change({ deviceId, target: keyId, fields: ['key'] }, (record) =>
      keys.remove(deviceId, keyId, clock.now(), record),
    );
  async function requireApplication(applicationId: string) {
    if (await applications.get(requireId('application_id', applicationId))) return;
    throw new DomainError('not_found', `The application ${applicationId} does not exist.`);
  }
  /**
   * Throws if another device has the key, because the key identifies the device. Awaits `beforeError` before it throws.
   */
  async function requireNoOther(deviceId: string, keyId: string, beforeError?: () => Promise<void>) {
    const other = await keys.otherWith(keyId, deviceId);
    if (other === undefined) return;
    await beforeError?.();
    throw new DomainError(
      'conflict',
      `The device ${other} has this key. Each headset needs its own key: generate another key, or remove the key from that device first.`,
    );
  }
  return {
    async addHeadsetKey({ deviceId, publicKeyPem, name }) {
      const key = readHeadsetKey(publicKeyPem);
      const named = name.trim() === '' ? {} : { name: requireName('name', name) };
      const added = { ...key, ...named, createdAtMs: clock.now() };
      requireDeviceId(deviceId);
      await requireNoOther(deviceId, key.keyId);
      const subject = { deviceId, target: key.keyId, fields: namesOf({ key, ...named }) };
      const outcome = await audit.change(subject, (record) => keys.add(deviceId, added, record));
      if (outcome === 'none') {
        if (!(await registry.get(deviceId))) throw unknownDevice(deviceId);
        throw new DomainError(
          'conflict',
          `The device ${deviceId} has ${maxKeys} keys, the maximum. Remove an unused key first.`,
        );
      }
      // Checks again after the change: if two calls add the key to two devices concurrently, at least one of them finds
      // the conflict. If the process dies before this check, the caller gets no answer, and a repeated call is
      // rejected.
      if (outcome === 'added') {
        await requireNoOther(deviceId, key.keyId, async () => void (await removeKey(deviceId, key.keyId)));
      }
      return { keyId: key.keyId };
    },
    async removeHeadsetKey({ deviceId, keyId }) {
      if (!(await removeKey(requireDeviceId(deviceId), keyId))) {
        throw new DomainError('not_found', `The device ${deviceId} has no key ${keyId}.`);
      }
      return {};
    },
    async listHeadsetKeys({ deviceId, applicationId, afterDeviceId }) {
      if (applicationId === '') return { keys: (await ofDevice(deviceId)).map(messageOf) };
      if (deviceId !== '') {
        throw new DomainError('invalid_argument', 'Both device_id and application_id are given.');
      }
      await requireApplication(applicationId);
      const page = await keys.ofApplication(applicationId, afterDeviceId, pageOfDevices);
      return {
        devices: page.map((device) => ({ deviceId: device.deviceId, keys: device.keys.map(messageOf) })),
        nextAfterDeviceId: nextAfter(page),
      };
    },
    async removeAllHeadsetKeys({ of, afterDeviceId, dryRun }) {
      if (of.case === undefined) {
        throw new DomainError('invalid_argument', 'Neither device_id nor application_id is given.');
      }
      if (of.case === 'applicationId') await requireApplication(of.value);
      const page =
        of.case === 'deviceId'
          ? [{ deviceId: of.value, keys: await ofDevice(of.value) }]
          : await keys.ofApplication(of.value, afterDeviceId, pageOfDevices);
      const devices = [];
      for (const { deviceId, keys: registered } of page) {
        const removed = [];
        for (const { keyId } of registered)
          if (dryRun || (await removeKey(deviceId, keyId))) removed.push(keyId);
        if (removed.length > 0) devices.push({ deviceId, keyIds: removed });
      }
      return { devices, nextAfterDeviceId: of.case === 'applicationId' ? nextAfter(page) : '' };
    },
  };
}

/** Start of the next page; empty after the last page. */
function nextAfter(page: readonly { readonly deviceId: string }[]): string {
  return page.length === pageOfDevices ? (page.at(-1)?.deviceId ?? '') : '';
}

function messageOf({ keyId, name = '', createdAtMs = 0, lastUsedAtMs = 0 }: ListedKey) {
  return { keyId, name, createdAtMs: BigInt(createdAtMs), lastUsedAtMs: BigInt(lastUsedAtMs) };
}

import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { RegisteredKey } from '../domain/headset-key.ts';

/** A key with which an open session has signed in. */
export interface KeyInUse {
  readonly deviceId: string;
  readonly keyId: string;
}

/** A key, and the time of its last use by a session; the time is absent if the key was never used. */
export type ListedKey = RegisteredKey & { readonly lastUsedAtMs?: number };

/** The keys with which headsets sign in (rule C6). */
export interface HeadsetKeyStore {
  /**
   * Adds a key; idempotent. 'had': the device has the key already. 'none': the device is unknown or has too many keys.
   */
  add(deviceId: string, key: RegisteredKey, record: PendingAuditRecord): Promise<'added' | 'had' | 'none'>;
  /** Another device that has the key; undefined if there is none. */
  otherWith(keyId: string, deviceId: string): Promise<string | undefined>;
  /** False if the device has no such key. */
  remove(deviceId: string, keyId: string, nowMs: number, record: PendingAuditRecord): Promise<boolean>;
  /** Devices that lost a key in the last minute, the latest first; at most 10,000. */
  recent(nowMs: number): Promise<string[]>;
  /** In the order of registration; undefined for an unknown device. */
  list(deviceId: string): Promise<ListedKey[] | undefined>;
  /** The keys of the devices that the application has activated now, ordered by device id. */
  ofApplication(
    applicationId: string,
    afterDeviceId: string,
    limit: number,
  ): Promise<{ readonly deviceId: string; readonly keys: readonly ListedKey[] }[]>;
  /** Returns the positions of the keys that are not registered. Stores the use of the other keys at intervals. */
  check(inUse: readonly KeyInUse[], nowMs: number): Promise<number[]>;
}

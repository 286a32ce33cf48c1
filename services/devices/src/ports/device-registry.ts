import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Reported } from '../domain/reported.ts';

export interface RegisteredDevice {
  readonly deviceId: string;
  readonly keyIds: readonly string[];
  readonly applicationId?: string;
  readonly specificDestination?: string;
  /** From the newest session's hello; empty if not known yet. */
  readonly clientVersion: string;
}

/** The device registry, which operators provision. */
export interface DeviceRegistry {
  /** Idempotent. */
  register(deviceIds: readonly string[]): Promise<void>;
  get(deviceId: string): Promise<(RegisteredDevice & { readonly reported: Reported }) | undefined>;
  /** Registers the device and sets its destination text. An empty text removes it; undefined keeps it. */
  put(deviceId: string, specificDestination: string | undefined, record: PendingAuditRecord): Promise<void>;
  list(afterDeviceId: string, limit: number): Promise<RegisteredDevice[]>;
}

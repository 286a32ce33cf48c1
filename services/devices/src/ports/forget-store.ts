import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';

/** Data of a device that forgetting removes: the number of each kind. */
export interface TracesOfDevice {
  readonly keys: number;
  readonly reported: number;
  /** Ended activations. */
  readonly past: number;
  readonly texts: number;
  /** The application that has activated the device. */
  readonly applicationId?: string;
  /** True if a change of the device is running, or is not published to other services. */
  readonly unsettled: boolean;
}

/** Removes data that operators want forgotten (ADR 0047). */
export interface ForgetStore {
  traces(deviceId: string): Promise<TracesOfDevice | undefined>;
  /** False if an application has the device, or a change of the device is running. Idempotent. */
  forget(deviceId: string, nowMs: number, record: PendingAuditRecord): Promise<boolean>;
}

import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { HardwareModel } from '../domain/hardware.ts';

/** The hardware models that operators registered. */
export interface HardwareModelStore {
  find(identifier: string): Promise<HardwareModel | undefined>;
  list(): Promise<HardwareModel[]>;
  /** Replaces the model with the same identifier. */
  put(model: HardwareModel, record: PendingAuditRecord): Promise<void>;
}

import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Limits } from '../domain/limits.ts';
import type { DeviceContract } from './device-contract.ts';

export interface Contract {
  readonly applicationId: string;
  readonly activationLimit: number;
  /** Limits that the contract sets. */
  readonly limits: Partial<Limits>;
}

/** A change of a contract. */
export interface ContractChange {
  /** Undefined: the contract's limit does not change. */
  readonly activationLimit: number | undefined;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Limits to set. */
  readonly limits: Partial<Limits>;
  /** True: the contract's limits are removed before `limits` are set. */
  readonly defaultLimits: boolean;
}

/** Contracts. Only `devices` reads the devices of a contract, in pages: other calls do not depend on their number. */
export interface ContractStore {
  /** The contract of the application if it contains the device; undefined otherwise. */
  ofDevice(applicationId: string, deviceId: string): Promise<DeviceContract | undefined>;
  /**
   * Records that an activation of the application began or ended; idempotent. 'closed': the application is forgotten,
   * and the contract has no slot.
   */
  slotsChanged(applicationId: string): Promise<'open' | 'closed'>;
  get(applicationId: string): Promise<Contract | null>;
  /** The IMEIs of the contract, in order. */
  devices(applicationId: string, afterDeviceId: string, limit: number): Promise<string[]>;
  /**
   * Creates or changes a contract. The first write includes `record`, the audit record. Returns false and changes
   * nothing if there is no contract yet and the change has no activation limit.
   */
  put(applicationId: string, change: ContractChange, record: PendingAuditRecord): Promise<boolean>;
  /** The limits that the contract sets; none without a contract. */
  limits(applicationId: string): Promise<Partial<Limits>>;
}

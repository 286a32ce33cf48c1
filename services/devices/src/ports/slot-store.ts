import type { DeviceContract } from './device-contract.ts';

/** The slots of contracts (ADR 0011, rule B8). A slot is a number in a device's activation. */
export interface SlotStore {
  /** Number of devices that the application has activated. Counts over an index. */
  inUse(applicationId: string): Promise<number>;
  /**
   * Returns a number below the contract's limit that no activation has; undefined if each number was in use at some
   * time during the call. First gives numbers to activated devices that have no number, or a number not below the
   * limit. `tries`: how often the caller has tried a number and found it in use.
   */
  free(applicationId: string, contract: DeviceContract, tries: number): Promise<number | undefined>;
}

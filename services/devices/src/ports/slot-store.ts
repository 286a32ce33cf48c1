import type { ContractStanding } from './contract-standing.ts';

/** The slots of contracts (ADR 0011, rule B8). A slot is a number in a device's activation. */
export interface SlotStore {
  /** Number of devices that the application has activated. Counts over an index. */
  inUse(applicationId: string): Promise<number>;
  /**
   * Returns a number below the contract's limit that no activation has. Undefined: each number was in use at some time
   * during the call. Before that, gives a number to devices without a number, or with a number above the limit.
   * `tries`: how often the caller has found its number in use.
   */
  free(applicationId: string, contract: ContractStanding, tries: number): Promise<number | undefined>;
}

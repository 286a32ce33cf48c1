import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';

/** Data of an application that forgetting removes: the number of each kind. */
export interface TracesOfApplication {
  /** Number of endpoints. */
  readonly settings: number;
  readonly authenticationKeys: number;
  /** Number of names, including the owner. */
  readonly names: number;
  /** Number of contracts that allow an activation or set limits. */
  readonly contracts: number;
  /** Number of devices that the application has activated. */
  readonly activated: number;
  /** True if a change of one of its devices is running, or is not published to other services. */
  readonly unsettled: boolean;
  /** Number of changes of its contract; absent if it has none. */
  readonly contractChanges?: number;
  /** The newest run of the command that has forgotten the application. */
  readonly run?: string;
}

/** Removes data of an application that operators want forgotten. */
export interface ApplicationForgetStore {
  traces(applicationId: string): Promise<TracesOfApplication | undefined>;
  /**
   * Removes all data except the IMEIs of its contract; idempotent. Returns false if the contract has changed since it
   * was read, because a device may have been activated in the meantime.
   */
  forget(
    applicationId: string,
    seen: { readonly contractChanges: number | undefined; readonly run: string; readonly nowMs: number },
    record: PendingAuditRecord,
  ): Promise<boolean>;
  /** Number of IMEIs in its contract. */
  countNamed(applicationId: string): Promise<number>;
  /** Removes the next IMEIs of its contract. */
  removeNamed(applicationId: string): Promise<{ readonly removed: number; readonly more: boolean }>;
}

import type { Introduction, Inventory, ReportedFields } from '../domain/reported.ts';

/**
 * The activation epoch at the start of a session. An application may read the hello if its activation began at this
 * epoch or earlier (rule A7).
 */
export interface IntroducedEpoch {
  /** The device's activation epoch, read at the start of the session; 0 if it could not be read. */
  readonly read: number;
  /**
   * The activation epoch that the headset reported; set if the device's epoch could not be read. Ignored if it is
   * higher than the device's epoch.
   */
  readonly claimed?: number;
}

export interface DeviceReports {
  readonly deviceId: string;
  readonly fields: ReportedFields;
  readonly introduction?: Introduction;
  readonly introducedEpoch?: IntroducedEpoch;
  readonly inventory?: Inventory;
  /** The device's newest session that ended at least the offline interval ago. */
  readonly offline?: { readonly sessionEpoch: number; readonly atMs: number };
}

/** Stores headsets' reports. An older report never overwrites a newer report. */
export interface ReportStore {
  store(reports: readonly DeviceReports[]): Promise<void>;
}

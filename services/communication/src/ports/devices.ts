import type { Setting } from '../domain/recording.ts';

/** Reads from devices. */
export interface Devices {
  /** The application that has activated the device now; empty if there is none. */
  applicationOf(deviceId: string): Promise<string>;
  isSet(applicationId: string, setting: Setting): Promise<boolean>;
}

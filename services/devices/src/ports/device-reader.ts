import type { Associations } from '../domain/association.ts';
import type { DeviceState } from '../domain/device.ts';
import type { HeadsetKey } from '../domain/headset-key.ts';
import type { Presence } from '../domain/network-status.ts';
import type { Reported, ReportedVersions } from '../domain/reported.ts';

/** A device's activation and versions at one time, for calls that do not change the activation. */
export interface ActivationSnapshot {
  readonly applicationId: string;
  readonly epoch: number;
  /** The versions that the headset last reported. */
  readonly versions: ReportedVersions;
  /** The versions that the application may read (rule A7). */
  readonly readable: ReportedVersions;
  /** True if transactions of earlier changes of the activation may not be created yet. */
  readonly unsettled: boolean;
}

export interface DeviceWithReport {
  readonly deviceId: string;
  readonly activation?: {
    readonly applicationId: string;
    readonly clientId: string;
    readonly sinceEpoch: number;
    /** Time of `sinceEpoch`; milliseconds since 1970. Absent if not known. */
    readonly sinceMs?: number;
  };
  readonly reported: Reported;
}

/** Reads devices, for all calls except those that change an activation. */
export interface DeviceReader {
  /** Undefined if the device is not activated or unknown. One point read. */
  activationSnapshot(deviceId: string): Promise<ActivationSnapshot | undefined>;
  withReport(deviceId: string): Promise<DeviceWithReport | undefined>;
  /** The device's newest change, and the current activation; undefined for an unknown device. One point read. */
  currentActivation(
    deviceId: string,
  ): Promise<Pick<DeviceState, 'epoch' | 'lastTransactionId' | 'activation'> | undefined>;
  /** The devices that the application has activated now, ordered by id. */
  activatedBy(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  /** Like `activatedBy`, but reads only the fields that filters need. */
  filterable(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  /** Those of these devices that the application has activated now, ordered by id. */
  activatedAmong(applicationId: string, deviceIds: readonly string[]): Promise<DeviceWithReport[]>;
  keys(deviceId: string): Promise<readonly HeadsetKey[]>;
  /** The current and earlier applications of the device; undefined for an unknown device. One point read. */
  associations(deviceId: string): Promise<Associations | undefined>;
  /** The associations of many devices, with their presence, in one query. */
  knownDevices(deviceIds: readonly string[]): Promise<Map<string, Associations & { presence: Presence }>>;
  /** For the hardware properties; undefined for an unknown device. */
  hardware(deviceId: string): Promise<DeviceHardware | undefined>;
}

/** The stored hardware fields of a device; unknown fields are absent. */
export interface DeviceHardware {
  /** The application that has activated the device. */
  readonly applicationId?: string;
  readonly modelIdentifier?: string;
  readonly macAddressWifi?: string;
  readonly macAddressBluetooth?: string;
  readonly specificDestination?: string;
}

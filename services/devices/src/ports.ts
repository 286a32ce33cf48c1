import type { OwedRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Associations } from './domain/association.ts';
import type { Activation, DeviceState, LifecycleChange, Pending, Undo } from './domain/device.ts';
import type { HardwareModel } from './domain/hardware.ts';
import type { HeadsetKey, RegisteredKey } from './domain/headset-key.ts';
import type { Limits } from './domain/limits.ts';
import type { Presence } from './domain/network-status.ts';
import type {
  Introduction,
  Inventory,
  Reported,
  ReportedFields,
  ReportedVersions,
} from './domain/reported.ts';
import type { AddressSetting, ApplicationSettings } from './domain/settings.ts';

/**
 * Outcome of a conditional change. `lost`: the document had changed in the meantime. `taken`: another device has the
 * client id or the slot.
 */
export type ChangeOutcome = 'changed' | 'lost' | 'taken';

/** The devices' documents for activation. Every change is one conditional update of one document. */
export interface ActivationStore {
  find(deviceId: string): Promise<DeviceState | undefined>;
  clientIdInUse(clientId: string, exceptDeviceId: string): Promise<boolean>;
  /** Activates the device, only if it is neither activated nor has pending work. Its transaction becomes pending. */
  activate(
    deviceId: string,
    transactionId: number,
    activation: Activation,
    record: OwedRecord,
  ): Promise<ChangeOutcome>;
  /** Replaces the client of the activation, unless the device's activation has changed since it was read. */
  reactivate(
    device: DeviceState,
    transactionId: number,
    next: Activation,
    record: OwedRecord,
  ): Promise<ChangeOutcome>;
  /** Continues the activation at the next activation epoch. */
  reset(
    deviceId: string,
    transactionId: number,
    present: Activation,
    record: OwedRecord,
  ): Promise<ChangeOutcome>;
  /** Ends the activation; the deactivation has the next activation epoch. */
  deactivate(
    deviceId: string,
    transactionId: number,
    ended: Activation,
    record: OwedRecord,
  ): Promise<ChangeOutcome>;
  /** Replaces the activation (ADR 0063), unless it has changed since it was read. */
  replace(device: DeviceState, activation: Activation): Promise<ChangeOutcome>;
  /** Ends the activation as if it had never existed (ADR 0063), unless it has changed since it was read. */
  undo(device: DeviceState, present: Activation, transactionId: number): Promise<void>;
  /** Removes the finished work of an undone activation. */
  settleUndo(deviceId: string, done: Undo): Promise<void>;
  /** Removes the oldest pending work, which is finished. */
  settle(deviceId: string, done: Pending): Promise<void>;
  /** Removes the device from the sweeper's list if no work is pending. */
  rest(deviceId: string): Promise<void>;
  /** Number of devices with pending work, for a metric; counts at most some thousand. */
  countPending(): Promise<number>;
  /** Lifecycle changes of these devices that are not published yet, in the order of each device. */
  pendingLifecycle(
    deviceIds: readonly string[],
  ): Promise<{ readonly deviceId: string; readonly changes: readonly LifecycleChange[] }[]>;
  /** Removes published changes up to and including that activation epoch. */
  clearLifecycle(published: readonly { readonly deviceId: string; readonly epoch: number }[]): Promise<void>;
  /** Claims devices with overdue work, oldest first, for one instance until `untilMs`. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<string[]>;
  /** Makes work due now that is due after `latestMs`; a wrong clock wrote such a time. */
  recall(latestMs: number, nowMs: number): Promise<void>;
}

/** A device's activation, for calls that do not change it. */
export interface Standing {
  readonly applicationId: string;
  readonly epoch: number;
  /** The versions that the headset last reported. */
  readonly versions: ReportedVersions;
  /** The versions that the application may read (rule A7). */
  readonly readable: ReportedVersions;
  /** True if changes of the activation have taken effect whose transactions may not exist yet. */
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

/** Reads of devices for everything but activation. */
export interface DeviceReader {
  /** Undefined if the device is not activated or unknown. One point read. */
  standing(deviceId: string): Promise<Standing | undefined>;
  withReport(deviceId: string): Promise<DeviceWithReport | undefined>;
  /** The device's newest change, and the current activation; undefined for an unknown device. One point read. */
  currentActivation(
    deviceId: string,
  ): Promise<Pick<DeviceState, 'epoch' | 'lastTransactionId' | 'activation'> | undefined>;
  /** The devices that the application has activated now, ordered by id. */
  activatedBy(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  /** The fields that filters need of the next devices that the application has activated, ordered by id. */
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

/** The hardware models that operators registered. */
export interface HardwareModelStore {
  find(identifier: string): Promise<HardwareModel | undefined>;
  list(): Promise<HardwareModel[]>;
  /** Replaces the model with the same identifier. */
  put(model: HardwareModel, record: OwedRecord): Promise<void>;
}

/** The activation that a hello counts for (rule A7). */
export interface IntroducedEpoch {
  /** The device's activation epoch, read at the start of the session; 0 if it could not be read. */
  readonly read: number;
  /**
   * The activation epoch that the headset reported, if the epoch could not be read. It counts only if it is not in the
   * future.
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
  /** Registers the device and sets its text. An empty text removes the text. */
  put(deviceId: string, specificDestination: string | undefined, record: OwedRecord): Promise<void>;
  list(afterDeviceId: string, limit: number): Promise<RegisteredDevice[]>;
}

/** Data of a device that forgetting removes: the number of each kind. */
export interface TracesOfDevice {
  readonly keys: number;
  readonly reported: number;
  /** Ended activations. */
  readonly past: number;
  readonly texts: number;
  /** The application that has activated the device. */
  readonly applicationId?: string;
  /** A change of the device is running, or is not published to other services. */
  readonly unsettled: boolean;
}

/** Removes data that operators want forgotten (ADR 0047). */
export interface ForgetStore {
  traces(deviceId: string): Promise<TracesOfDevice | undefined>;
  /** False if an application has the device, or a change of the device is running. Idempotent. */
  forget(deviceId: string, nowMs: number, record: OwedRecord): Promise<boolean>;
}

/** Data of an application that forgetting removes: the number of each kind. */
export interface TracesOfApplication {
  /** Number of addresses. */
  readonly settings: number;
  readonly authenticationKeys: number;
  /** Number of names, including the owner. */
  readonly names: number;
  /** Number of contracts that allow an activation or set limits. */
  readonly contracts: number;
  /** Number of devices that the application has activated. */
  readonly activated: number;
  /** A change of one of its devices is running, or is not published to other services. */
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
   * Removes all data except the IMEIs of its contract. False if the contract has changed since, because a device may be
   * activated. Idempotent.
   */
  forget(
    applicationId: string,
    seen: { readonly contractChanges: number | undefined; readonly run: string; readonly nowMs: number },
    record: OwedRecord,
  ): Promise<boolean>;
  /** Number of IMEIs in its contract. */
  countNamed(applicationId: string): Promise<number>;
  /** Removes the next IMEIs of its contract. */
  removeNamed(applicationId: string): Promise<{ readonly removed: number; readonly more: boolean }>;
}

/** A key with which an open session has signed in. */
export interface KeyInUse {
  readonly deviceId: string;
  readonly keyId: string;
}

/** A key, and the time when a session with the key was last seen; absent: never. */
export type ListedKey = RegisteredKey & { readonly lastUsedAtMs?: number };

/** The keys with which headsets sign in (rule C6). */
export interface HeadsetKeyStore {
  /** 'none': the device is unknown or has too many keys. Idempotent: a repeat returns 'had'. */
  add(deviceId: string, key: RegisteredKey, record: OwedRecord): Promise<'added' | 'had' | 'none'>;
  /** Another device that has the key; undefined if there is none. */
  otherWith(keyId: string, deviceId: string): Promise<string | undefined>;
  /** False if the device has no such key. */
  remove(deviceId: string, keyId: string, nowMs: number, record: OwedRecord): Promise<boolean>;
  /** Devices that lost a key in the last minute, the latest first; at most 10,000. */
  recent(nowMs: number): Promise<string[]>;
  /** In the order of registration; undefined for an unknown device. */
  list(deviceId: string): Promise<ListedKey[] | undefined>;
  /** The keys of the devices that the application has activated now, ordered by device id. */
  ofApplication(
    applicationId: string,
    afterDeviceId: string,
    limit: number,
  ): Promise<{ readonly deviceId: string; readonly keys: readonly ListedKey[] }[]>;
  /** Returns the positions of the keys that are not registered. Stores the use of the other keys at intervals. */
  check(inUse: readonly KeyInUse[], nowMs: number): Promise<number[]>;
}

/** A contract that names the device to be activated. */
export interface ContractStanding {
  readonly activationLimit: number;
  /** Rises with each change of the contract, and after each change of its slots. */
  readonly changes: number;
}

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

/** Contracts. No call costs more for a contract with more devices. Only `devices` reads the devices, in pages. */
export interface ContractStore {
  /** Undefined if no contract names the device. */
  standing(applicationId: string, deviceId: string): Promise<ContractStanding | undefined>;
  /**
   * Records that an activation of the application began or ended; idempotent. 'closed': the application is forgotten,
   * and the contract has no slot.
   */
  slotsChanged(applicationId: string): Promise<'open' | 'closed'>;
  get(applicationId: string): Promise<Contract | null>;
  /** The IMEIs of the contract, in order. */
  devices(applicationId: string, afterDeviceId: string, limit: number): Promise<string[]>;
  /**
   * `record` is the audit record; the first write includes it. Returns false and changes nothing if there is no
   * contract yet and the change has no activation limit.
   */
  put(applicationId: string, change: ContractChange, record: OwedRecord): Promise<boolean>;
  /** The limits that the contract sets; none without a contract. */
  limits(applicationId: string): Promise<Partial<Limits>>;
}

export interface Application {
  readonly applicationId: string;
  readonly developerId: string;
  readonly name: string;
}

/** Applications. A forgotten application (ADR 0047) is unknown to all methods. */
export interface ApplicationStore {
  get(applicationId: string): Promise<Application | undefined>;
  list(developerId: string | undefined): Promise<Application[]>;
  /** False if the id is taken, or belonged to a forgotten application. */
  create(application: Application, nowMs: number, record: OwedRecord): Promise<boolean>;
  settings(applicationId: string): Promise<ApplicationSettings | undefined>;
  /** Whether the URL and the key of a destination exist; undefined for an unknown application. One point read. */
  destination(
    applicationId: string,
  ): Promise<{ deviceEvent: boolean; authenticationKey: boolean } | undefined>;
  /** Applies a change once per `changeId`. Returns the settings afterwards; undefined for an unknown application. */
  change(
    applicationId: string,
    change: {
      changeId: string;
      set: Readonly<Partial<Record<AddressSetting | 'authenticationKey', string>>>;
      remove: readonly AddressSetting[];
    },
    record: OwedRecord,
  ): Promise<ApplicationSettings | undefined>;
}

export interface Developer {
  readonly developerId: string;
  readonly name: string;
  readonly clientIds: readonly string[];
}

export interface DeveloperStore {
  developerOfClient(clientId: string): Promise<string | undefined>;
  exists(developerId: string): Promise<boolean>;
  list(): Promise<Developer[]>;
  /** Stops at the first client id that belongs to another developer, and returns it. */
  put(developer: Developer, record: OwedRecord): Promise<{ takenClientId: string } | undefined>;
}

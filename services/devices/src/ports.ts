import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
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
 * How a conditional change ended. `lost`: the document had changed meanwhile. `taken`: another device has the client
 * id, or the slot.
 */
export type ChangeOutcome = 'changed' | 'lost' | 'taken';

/** The devices' documents for activation. Every change is one conditional update of one document. */
export interface ActivationStore {
  find(deviceId: string): Promise<DeviceState | undefined>;
  clientIdInUse(clientId: string, exceptDeviceId: string): Promise<boolean>;
  /**
   * Activates the device, only while it is neither activated nor has pending work; its transaction becomes pending.
   */
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
  /**
   * Ends the activation as if it had not been (ADR 0063), unless it has changed since it was read.
   */
  undo(device: DeviceState, present: Activation, transactionId: number): Promise<void>;
  /** Removes the work of an undone activation, which is done. */
  settleUndo(deviceId: string, done: Undo): Promise<void>;
  /** Removes the oldest pending work, which is done. */
  settle(deviceId: string, done: Pending): Promise<void>;
  /** Takes the device off the sweeper's list if nothing is left to do. */
  rest(deviceId: string): Promise<void>;
  /** Devices with pending work, for a metric; the count stops at some thousand. */
  countPending(): Promise<number>;
  /** Lifecycle changes of these devices that are not published yet, each device's in order. */
  owedLifecycle(
    deviceIds: readonly string[],
  ): Promise<{ readonly deviceId: string; readonly changes: readonly LifecycleChange[] }[]>;
  /** Removes published changes up to and including that activation epoch. */
  clearLifecycle(published: readonly { readonly deviceId: string; readonly epoch: number }[]): Promise<void>;
  /** Claims devices with overdue work, oldest first, for one instance until `untilMs`. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<string[]>;
  /** Makes work due now that is due after `latestMs`; a wrong clock wrote such a time. */
  recall(latestMs: number, nowMs: number): Promise<void>;
}

/** A device's activation for calls that do not change it. */
export interface Standing {
  readonly applicationId: string;
  readonly epoch: number;
  /** The versions that the headset last reported. */
  readonly versions: ReportedVersions;
  /** Those of them that the application may read (rule A7). */
  readonly readable: ReportedVersions;
  /** True: changes of the activation have taken effect whose transactions may not exist yet. */
  readonly unsettled: boolean;
}

export interface DeviceWithReport {
  readonly deviceId: string;
  readonly activation?: {
    readonly applicationId: string;
    readonly clientId: string;
    readonly sinceEpoch: number;
    /** When that was; milliseconds since 1970. Absent: not known. */
    readonly sinceMs?: number;
  };
  readonly reported: Reported;
}

/** Reads of devices for everything but activation. */
export interface DeviceReader {
  /** Undefined: not activated, or unknown. One point read. */
  standing(deviceId: string): Promise<Standing | undefined>;
  withReport(deviceId: string): Promise<DeviceWithReport | undefined>;
  /**
   * The device's newest change, and the current activation; undefined: an unknown device. One point read.
   */
  currentActivation(
    deviceId: string,
  ): Promise<Pick<DeviceState, 'epoch' | 'lastTransactionId' | 'activation'> | undefined>;
  /** The devices that the application has activated now, by id. */
  activatedBy(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  /** What the next devices that the application has activated are filtered by, by id: part of their state. */
  filterable(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  /** Those of these devices that the application has activated now, by id. */
  activatedAmong(applicationId: string, deviceIds: readonly string[]): Promise<DeviceWithReport[]>;
  keys(deviceId: string): Promise<readonly HeadsetKey[]>;
  /** Who has and had the device activated; undefined: an unknown device. One point read. */
  associations(deviceId: string): Promise<Associations | undefined>;
  /** The associations of many devices, with their presence, in one query. */
  tellingOf(deviceIds: readonly string[]): Promise<Map<string, Associations & { presence: Presence }>>;
  /** For the hardware properties; undefined: an unknown device. */
  hardware(deviceId: string): Promise<DeviceHardware | undefined>;
}

/** The stored hardware fields of a device; absent: not known. */
export interface DeviceHardware {
  /** The application that has the device activated. */
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
  /** The device's activation epoch, read when the session began; 0: it could not be read. */
  readonly read: number;
  /**
   * The activation epoch that the headset claims, if it could not be read; counts only if it is not in the
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
  /** The device's newest session that has been over for the offline interval. */
  readonly offline?: { readonly sessionEpoch: number; readonly atMs: number };
}

/** Stores headsets' reports; an older report never overwrites a newer one. */
export interface ReportStore {
  store(reports: readonly DeviceReports[]): Promise<void>;
}

export interface RegisteredDevice {
  readonly deviceId: string;
  readonly keyIds: readonly string[];
  readonly applicationId?: string;
  readonly specificDestination?: string;
  /** From the newest session's hello; empty: not known yet. */
  readonly clientVersion: string;
}

/** The device registry, which operators provision. */
export interface DeviceRegistry {
  /** Idempotent. */
  register(deviceIds: readonly string[]): Promise<void>;
  get(deviceId: string): Promise<(RegisteredDevice & { readonly reported: Reported }) | undefined>;
  /** Registers the device; sets its text or, with an empty one, removes it. */
  put(deviceId: string, specificDestination: string | undefined, record: OwedRecord): Promise<void>;
  list(afterDeviceId: string, limit: number): Promise<RegisteredDevice[]>;
}

/** What there is of a device that forgetting removes: how many of each. */
export interface TracesOfDevice {
  readonly keys: number;
  readonly reported: number;
  /** Ended activations. */
  readonly past: number;
  readonly texts: number;
  /** The application that has it activated. */
  readonly applicationId?: string;
  /** A change of it is under way, or not told to other services. */
  readonly unsettled: boolean;
}

/** What an operator has forgotten (ADR 0047). */
export interface ForgetStore {
  traces(deviceId: string): Promise<TracesOfDevice | undefined>;
  /** False: an application has it, or a change of it is under way. Idempotent. */
  forget(deviceId: string, nowMs: number, record: OwedRecord): Promise<boolean>;
}

/** What there is of an application that forgetting removes: how many of each. */
export interface TracesOfApplication {
  /** Addresses. */
  readonly settings: number;
  readonly authenticationKeys: number;
  /** Its name, with its owner. */
  readonly names: number;
  /** A contract that lets something be activated, or has limits of its own. */
  readonly contracts: number;
  /** Devices that it has activated. */
  readonly activated: number;
  /** A change of a device of it is under way, or not told to other services. */
  readonly unsettled: boolean;
  /** How often its contract had changed; absent: it has none. */
  readonly contractChanges?: number;
  /** The newest run of the command that has forgotten it. */
  readonly run?: string;
}

/** The same of an application. */
export interface ApplicationForgetStore {
  traces(applicationId: string): Promise<TracesOfApplication | undefined>;
  /**
   * Removes all but the IMEIs of its contract. False: the contract has changed since, so a device may be
   * activated. Idempotent.
   */
  forget(
    applicationId: string,
    seen: { readonly contractChanges: number | undefined; readonly run: string; readonly nowMs: number },
    record: OwedRecord,
  ): Promise<boolean>;
  /** IMEIs that its contract names. */
  countNamed(applicationId: string): Promise<number>;
  /** The next ones of them. */
  removeNamed(applicationId: string): Promise<{ readonly removed: number; readonly more: boolean }>;
}

/** A key that an open session has signed in with. */
export interface KeyInUse {
  readonly deviceId: string;
  readonly keyId: string;
}

/** A key, and when a session with it was last seen; absent: never. */
export type ListedKey = RegisteredKey & { readonly lastUsedAtMs?: number };

/** The keys that headsets sign in with (rule C6). */
export interface HeadsetKeyStore {
  /** 'none': the device is unknown or has too many keys. Idempotent: 'had' by a repeat. */
  add(deviceId: string, key: RegisteredKey, record: OwedRecord): Promise<'added' | 'had' | 'none'>;
  /** Another device that has the key; undefined: none has. */
  otherWith(keyId: string, deviceId: string): Promise<string | undefined>;
  /** False: the device has no such key. */
  remove(deviceId: string, keyId: string, nowMs: number, record: OwedRecord): Promise<boolean>;
  /** Devices that lost a key in the last minute, the latest first; at most 10,000. */
  recent(nowMs: number): Promise<string[]>;
  /** In the order of registration; undefined: unknown device. */
  list(deviceId: string): Promise<ListedKey[] | undefined>;
  /** The keys of the devices that the application has activated now, by device id. */
  ofApplication(
    applicationId: string,
    afterDeviceId: string,
    limit: number,
  ): Promise<{ readonly deviceId: string; readonly keys: readonly ListedKey[] }[]>;
  /** Positions of the keys that are not registered; the use of the others is noted now and then. */
  check(inUse: readonly KeyInUse[], nowMs: number): Promise<number[]>;
}

/** A contract, for an activation of a device that the contract names. */
export interface ContractStanding {
  readonly activationLimit: number;
  /** Rises with each change of the contract, and after each change of its slots. */
  readonly changes: number;
}

/** The slots of contracts (ADR 0011, rule B8): a slot is a number in a device's activation. */
export interface SlotStore {
  /** Devices that the application has activated. Counts over an index. */
  inUse(applicationId: string): Promise<number>;
  /**
   * A number below the contract's limit that no activation had. Undefined: each number was in use at some time of
   * the call. Before, devices without a number, or with one that is not below the limit, get one.
   * `tries`: how often the caller's activation has found its number in use.
   */
  free(applicationId: string, contract: ContractStanding, tries: number): Promise<number | undefined>;
}

export interface Contract {
  readonly applicationId: string;
  readonly activationLimit: number;
  /** The contract's own. */
  readonly limits: Partial<Limits>;
}

/** A change of a contract. */
export interface ContractChange {
  /** Undefined: the contract's own stays. */
  readonly activationLimit: number | undefined;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Limits to set. */
  readonly limits: Partial<Limits>;
  /** The contract's own limits are dropped before. */
  readonly defaultLimits: boolean;
}

/** Contracts. No call costs more for a contract with more devices; only `devices` reads them, a page at a time. */
export interface ContractStore {
  /** Undefined: no contract names the device. */
  standing(applicationId: string, deviceId: string): Promise<ContractStanding | undefined>;
  /**
   * Notes that an activation of the application began or ended; idempotent. Closed: the application is forgotten, and
   * the contract has no slot.
   */
  slotsChanged(applicationId: string): Promise<'open' | 'closed'>;
  get(applicationId: string): Promise<Contract | null>;
  /** The IMEIs that the contract names, in order. */
  devices(applicationId: string, afterDeviceId: string, limit: number): Promise<string[]>;
  /**
   * The first of its writes owes the record. False, and nothing is changed: there is no contract yet, and the change
   * names no activation limit.
   */
  put(applicationId: string, change: ContractChange, record: OwedRecord): Promise<boolean>;
  /** The contract's own limits; none without a contract. */
  limits(applicationId: string): Promise<Partial<Limits>>;
}

export interface Application {
  readonly applicationId: string;
  readonly developerId: string;
  readonly name: string;
}

/** An application that is forgotten (ADR 0047) is not known to any of these. */
export interface ApplicationStore {
  get(applicationId: string): Promise<Application | undefined>;
  list(developerId: string | undefined): Promise<Application[]>;
  /** False: the id is taken, or was another's that is forgotten. */
  create(application: Application, nowMs: number, record: OwedRecord): Promise<boolean>;
  settings(applicationId: string): Promise<ApplicationSettings | undefined>;
  /** Which of the two halves of a destination exist; undefined: unknown application. One point read. */
  destination(
    applicationId: string,
  ): Promise<{ deviceEvent: boolean; authenticationKey: boolean } | undefined>;
  /**
   * Applies a change once per `changeId`. Returns the settings afterwards; undefined: unknown application.
   */
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

import type { Associations } from './domain/association.ts';
import type { Activation, DeviceState, Intent, LifecycleChange, Pending } from './domain/device.ts';
import type { HardwareModel } from './domain/hardware.ts';
import type { HeadsetKey } from './domain/headset-key.ts';
import type { Presence } from './domain/network-status.ts';
import type {
  Introduction,
  Inventory,
  Reported,
  ReportedFields,
  ReportedVersions,
} from './domain/reported.ts';
import type { AddressSetting, ApplicationSettings } from './domain/settings.ts';
import type { Return, Slot, SlotCount, Take } from './domain/slots.ts';

/** How a conditional change ended: `lost` when the document had changed meanwhile. */
export type ChangeOutcome = 'changed' | 'lost' | 'client_id_in_use';

/** The devices, as activation sees them. Every change is one conditional update of one document. */
export interface ActivationStore {
  find(deviceId: string): Promise<DeviceState | undefined>;
  clientIdInUse(clientId: string, exceptDeviceId: string): Promise<boolean>;
  /** Only while the device is idle: neither activated nor about to be, nothing pending. */
  intend(deviceId: string, intent: Intent): Promise<boolean>;
  /** The intent becomes the activation, the take its slot; its transaction becomes pending. */
  activate(deviceId: string, intent: Intent, activation: Activation, takeId: string): Promise<ChangeOutcome>;
  /** Changes the client id of the activation with that epoch. */
  reactivate(deviceId: string, transactionId: number, next: Activation): Promise<ChangeOutcome>;
  /** The activation with that epoch goes on at the next one. */
  reset(deviceId: string, transactionId: number, present: Activation): Promise<ChangeOutcome>;
  /** Ends the activation with that epoch; the deactivation's epoch is the next. Its slot stays. */
  deactivate(
    deviceId: string,
    transactionId: number,
    ended: Activation,
    slot: Slot | undefined,
  ): Promise<ChangeOutcome>;
  /** Once for each slot: the device has it no longer, because of that return. */
  giveBack(deviceId: string, slotId: string, returnId: string): Promise<void>;
  /** How many devices have a slot of the application's contract. Costs a count over an index. */
  countSlots(applicationId: string): Promise<number>;
  /** Takes the intent away; with `slotTaken` the release of what it took becomes pending. False: it was gone. */
  abandon(deviceId: string, intent: Intent, slotTaken: boolean): Promise<boolean>;
  /** The oldest pending work is done. */
  settle(deviceId: string, done: Pending): Promise<void>;
  /** Takes the device off the sweeper's list if nothing is left to do. */
  rest(deviceId: string): Promise<void>;
  /** Devices with work left, as a metric: counts no further than some thousand. */
  countPending(): Promise<number>;
  /** What other services are still to hear of these devices, each device's changes in order. */
  owedLifecycle(
    deviceIds: readonly string[],
  ): Promise<{ readonly deviceId: string; readonly changes: readonly LifecycleChange[] }[]>;
  /** They have heard of the changes up to and including that epoch. */
  clearLifecycle(published: readonly { readonly deviceId: string; readonly epoch: number }[]): Promise<void>;
  /** Devices with overdue work, oldest first, each taken by one instance for a while. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<string[]>;
}

/** Device's activation as a call that only uses it needs it. */
export interface Standing {
  readonly applicationId: string;
  readonly epoch: number;
  /** As the headset said last. */
  readonly versions: ReportedVersions;
  /** What of it the application may read (rule A7). */
  readonly readable: ReportedVersions;
  /** Changes of the activation have taken effect whose transactions may not exist yet. */
  readonly unsettled: boolean;
}

export interface DeviceWithReport {
  readonly deviceId: string;
  readonly activation?: {
    readonly applicationId: string;
    readonly clientId: string;
    readonly sinceEpoch: number;
  };
  readonly reported: Reported;
}

/** The devices, as everyone else reads them. */
export interface DeviceReader {
  /** Undefined: not activated, or unknown. One point read. */
  standing(deviceId: string): Promise<Standing | undefined>;
  withReport(deviceId: string): Promise<DeviceWithReport | undefined>;
  /** Its newest change, and the activation as it is now; undefined: an unknown device. One point read. */
  currentActivation(
    deviceId: string,
  ): Promise<Pick<DeviceState, 'epoch' | 'lastTransactionId' | 'activation'> | undefined>;
  /** The devices that the application has activated now, by id. */
  activatedBy(applicationId: string, afterDeviceId: string, limit: number): Promise<DeviceWithReport[]>;
  keys(deviceId: string): Promise<readonly HeadsetKey[]>;
  /** Who has and had the device activated; undefined: an unknown device. One point read. */
  associations(deviceId: string): Promise<Associations | undefined>;
  /** The same for many devices, and whether they are online, in one query. */
  tellingOf(deviceIds: readonly string[]): Promise<Map<string, Associations & { presence: Presence }>>;
  /** For the hardware properties; undefined: an unknown device. */
  hardware(deviceId: string): Promise<DeviceHardware | undefined>;
}

/** What is kept of a device's hardware; absent: not known. */
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
  /** Replaces what was registered under the identifier. */
  put(model: HardwareModel): Promise<void>;
}

/** For which activation a hello counts (rule A7). */
export interface IntroducedEpoch {
  /** The device's epoch as it was read when the session began; 0: it could not be read. */
  readonly read: number;
  /** The epoch that the headset claims, where it could not be read: counts only if it has been. */
  readonly claimed?: number;
}

export interface DeviceReports {
  readonly deviceId: string;
  readonly fields: ReportedFields;
  readonly introduction?: Introduction;
  readonly introducedEpoch?: IntroducedEpoch;
  readonly inventory?: Inventory;
  /** Its newest session that is known to be over for a while. */
  readonly offline?: { readonly sessionEpoch: number; readonly atMs: number };
}

/** Takes what headsets report; an older occurrence never overwrites a newer one. */
export interface ReportStore {
  store(reports: readonly DeviceReports[]): Promise<void>;
}

export interface RegisteredDevice {
  readonly deviceId: string;
  readonly keyIds: readonly string[];
  readonly applicationId?: string;
  readonly specificDestination?: string;
  /** As the newest session's hello said; empty: not known yet. */
  readonly clientVersion: string;
}

/** The devices, as operators provision them. */
export interface DeviceRegistry {
  /** Idempotent. */
  register(deviceIds: readonly string[]): Promise<void>;
  get(deviceId: string): Promise<(RegisteredDevice & { readonly reported: Reported }) | undefined>;
  /** Sets or, with an empty text, removes the text of a registered device. */
  setSpecificDestination(deviceId: string, text: string): Promise<void>;
  list(afterDeviceId: string, limit: number): Promise<RegisteredDevice[]>;
  /** False: the device is unknown or has too many keys. Idempotent. */
  addKey(deviceId: string, key: HeadsetKey): Promise<boolean>;
  /** False: the device has no such key. */
  removeKey(deviceId: string, keyId: string): Promise<boolean>;
}

/** Whether a contract lets a device be activated. */
export interface ContractStanding {
  /** The contract names the device. */
  readonly named: boolean;
  readonly freeSlots: number;
  /** A slot is on its way to the device. */
  readonly taking: boolean;
}

export interface Contract {
  readonly applicationId: string;
  readonly activationLimit: number;
  /** Those that devices have and those on their way. */
  readonly slotsInUse: number;
}

/** `none`: no slot is free. `busy`: too many are under way; a moment later there is room. */
export type TakeResult = { readonly take: Take } | 'none' | 'busy';

/**
 * Contracts, each with the count of its slots (ADR 0011, rule B8). No call costs more for a contract
 * with more devices; only `devices` reads them, a page at a time.
 */
export interface ContractStore {
  standing(applicationId: string, deviceId: string): Promise<ContractStanding>;
  /** Counts a slot as taken, once for an intent: answers the take that the intent has already. */
  take(applicationId: string, take: Take): Promise<TakeResult>;
  /** The device has the slot: it stays counted, the take is gone. Idempotent. */
  confirm(applicationId: string, takeId: string): Promise<void>;
  /** The device will never have the slot: it is free again, once. False: the take was gone. */
  refund(applicationId: string, takeId: string): Promise<boolean>;
  /** The same for whatever an intent that is over has taken. */
  refundIntent(applicationId: string, intentId: string): Promise<void>;
  /** Notes a return; its slot stays counted, a take of it is gone. False: too many are under way. */
  beginReturn(applicationId: string, entry: Return): Promise<boolean>;
  /** The device gave the slot back with this return: it is free, once. */
  finishReturn(applicationId: string, returnId: string): Promise<void>;
  /** The device gave the slot back with another return. Idempotent. */
  cancelReturn(applicationId: string, returnId: string): Promise<void>;
  count(applicationId: string): Promise<SlotCount | undefined>;
  /** Puts the count right, unless anything changed since. Answers whether it did. */
  recount(applicationId: string, seen: SlotCount, slotsInUse: number, nextAtMs: number): Promise<boolean>;
  /** Contracts to look after, each taken by one instance. */
  claimUnchecked(nowMs: number, untilMs: number, limit: number): Promise<string[]>;
  /** Asks to be looked after no later than then. */
  checkBefore(applicationId: string, atMs: number): Promise<void>;
  get(applicationId: string): Promise<Contract | undefined>;
  /** The IMEIs that the contract names, in order. */
  devices(applicationId: string, afterDeviceId: string, limit: number): Promise<string[]>;
  put(
    applicationId: string,
    change: { activationLimit: number; add: readonly string[]; remove: readonly string[] },
    nowMs: number,
  ): Promise<void>;
}

export interface Application {
  readonly applicationId: string;
  readonly developerId: string;
  readonly name: string;
}

export interface ApplicationStore {
  get(applicationId: string): Promise<Application | undefined>;
  list(developerId: string | undefined): Promise<Application[]>;
  /** False: the id is taken. */
  create(application: Application, nowMs: number): Promise<boolean>;
  settings(applicationId: string): Promise<ApplicationSettings | undefined>;
  /** Which of the two halves of a destination exist; undefined: unknown application. One point read. */
  destination(
    applicationId: string,
  ): Promise<{ deviceEvent: boolean; authenticationKey: boolean } | undefined>;
  /** Once for each `changeId`. Answers the settings afterwards; undefined: unknown application. */
  change(
    applicationId: string,
    change: {
      changeId: string;
      set: Readonly<Partial<Record<AddressSetting | 'authenticationKey', string>>>;
      remove: readonly AddressSetting[];
    },
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
  /** The first client id that belongs to another developer stops it and is answered. */
  put(developer: Developer): Promise<{ takenClientId: string } | undefined>;
}

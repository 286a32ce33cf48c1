import { type PendingAuditFields, pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { idempotencyIndexes } from '@headset-cloud/rules/idempotency.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { PastAssociation } from '../domain/association.ts';
import type { Activation, LifecycleChange, Pending, Undo } from '../domain/device.ts';
import type { Camera, HardwareModel } from '../domain/hardware.ts';
import type { RegisteredKey } from '../domain/headset-key.ts';
import type { Limits } from '../domain/limits.ts';
import type { Reported } from '../domain/reported.ts';
import type { EndpointSetting } from '../domain/settings.ts';

export interface DeveloperDocument extends PendingAuditFields {
  _id: string;
  name: string;
}

/** One document per client. The unique id makes sure that a client belongs to one developer. */
export interface DeveloperClientDocument {
  /** OIDC client id. */
  _id: string;
  developerId: string;
}

export interface ApplicationDocument extends PendingAuditFields {
  _id: string;
  developerId: string;
  name: string;
  settings: Partial<Record<EndpointSetting, string>>;
  /** Sealed, base64; absent if never issued. */
  authenticationKey?: string;
  /** Ids of the newest changes, so that a repeat does not undo a later change. */
  recentChanges: string[];
  createdAt: Date;
  /**
   * Time when an operator had the application forgotten (ADR 0047); all other data is removed. Absent: not forgotten.
   */
  forgottenAtMs?: number;
  /** The newest run of the command that has forgotten the application. */
  forgetRun?: string;
}

export interface ContractDocument extends PendingAuditFields {
  /** Application id. */
  _id: string;
  activationLimit: number;
  /** Rises with each change of the contract, and after each change of its slots. */
  changes: number;
  /** Set when the application was forgotten (ADR 0047): no device can be activated. */
  closed?: true;
  /**
   * Slots for release 0.1.0, which counts the slots again when both times have passed. This release does not read them.
   */
  freeSlots: number;
  takes: unknown[];
  returns: unknown[];
  checkAtMs: number;
  recountAtMs: number;
  /** Limits that the contract sets (ADR 0040). */
  limits?: Partial<Limits>;
}

/** One document for each IMEI of a contract, because contracts may name thousands. */
export interface ContractDeviceDocument {
  /** `contractDeviceId`. */
  _id: string;
  applicationId: string;
  deviceId: string;
}

export interface DeviceDocument extends PendingAuditFields {
  /** IMEI. */
  _id: string;
  keys: RegisteredKey[];
  /** Time of the last stored use of each key, by key id; milliseconds since 1970. Absent if there was none. */
  keysUsedAtMs?: Record<string, number>;
  /** Time of the last removal of a key; milliseconds since 1970. Absent: no removal, or a removal by release 0.1.0. */
  keyRemovedAtMs?: number;
  epoch: number;
  lastTransactionId: number;
  recent: number[];
  activation?: StoredActivation;
  /**
   * Time of the last deactivation. Absent: the device is activated, or release 0.1.0 deactivated the device. The value
   * null occurs only in queries.
   */
  deactivatedAtMs?: number | null;
  /**
   * Time when an operator had the device forgotten (ADR 0047); reports are dropped from then on. Absent: not forgotten,
   * or a key was registered again.
   */
  forgottenAtMs?: number;
  /** Slot for release 0.1.0, in the index `slot`. This release writes the field, and does not read it. */
  slot?: { applicationId: string; id: string };
  /** Written by release 0.1.0. This release does not read the two fields. */
  intent?: unknown;
  returned?: unknown;
  pending: Pending[];
  /** Unfinished work of an undone activation; absent if there is none. */
  undo?: Undo;
  /** Absent in documents of older versions, and then read as empty. */
  lifecycle?: LifecycleChange[];
  /** Ended activations, oldest first; absent if there are none. */
  past?: PastAssociation[];
  /** Time at which the sweeper handles pending work or an intent; absent if there is none. */
  dueAtMs?: number;
  reported: Reported;
  /** Free text of the operator; absent if there is none. */
  specificDestination?: string;
}

/** An activation of an older version has no `sinceEpoch`: its `epoch` is used instead. */
export type StoredActivation = Omit<Activation, 'sinceEpoch'> & Partial<Pick<Activation, 'sinceEpoch'>>;

export interface HardwareModelDocument extends PendingAuditFields {
  /** The identifier that headsets report. */
  _id: string;
  name: string;
  description: string;
  shape: HardwareModel['shape'];
  cameras: Camera[];
}

export const collections = {
  developers: 'developers',
  developerClients: 'developerClients',
  applications: 'applications',
  contracts: 'contracts',
  contractDevices: 'contractDevices',
  devices: 'devices',
  hardwareModels: 'hardwareModels',
  idempotency: 'idempotency',
} as const;

/** Created by step 1 (steps.ts). Every query of this service uses one of these indexes or `_id`. */
export const devicesIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.developerClients]: [{ name: 'developer', key: { developerId: 1 } }],
  [collections.applications]: [{ name: 'developer', key: { developerId: 1, _id: 1 } }],
  [collections.contracts]: [{ name: 'check', key: { checkAtMs: 1 } }],
  [collections.contractDevices]: [{ name: 'application', key: { applicationId: 1, deviceId: 1 } }],
  [collections.devices]: [
    // A client id is unique on the platform while it is in use (rule A7).
    { name: 'clientId', key: { 'activation.clientId': 1 }, unique: true, sparse: true },
    { name: 'application', key: { 'activation.applicationId': 1, _id: 1 } },
    { name: 'due', key: { dueAtMs: 1 }, sparse: true },
    { name: 'slot', key: { 'slot.applicationId': 1 }, sparse: true },
  ],
  [collections.idempotency]: idempotencyIndexes,
};

/** Collections whose documents have pending audit records; their index is created by step 2. */
export const auditedCollections = [
  collections.developers,
  collections.applications,
  collections.contracts,
  collections.devices,
  collections.hardwareModels,
] as const;

export const pendingAuditIndexes: Readonly<Record<string, IndexDescription[]>> = Object.fromEntries(
  auditedCollections.map((name) => [name, [pendingAuditIndex]]),
);

/**
 * Index that finds the device with a key. Not unique, because release 0.1.0 may register one key for several devices
 * (ADR 0034).
 */
export const keysIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [{ name: 'key', key: { 'keys.keyId': 1 }, sparse: true }],
};

/** Index that finds devices that have just lost a key (ADR 0038). */
export const removedKeysIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [{ name: 'keyRemoved', key: { keyRemovedAtMs: 1 }, sparse: true }],
};

/**
 * Index that prevents two devices with the same slot of a contract (ADR 0011). Release 0.1.0 writes no number, so the
 * unique index rejects none of its writes.
 */
export const slotIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [
    { name: 'slotNumber', key: { 'activation.applicationId': 1, 'activation.slot': 1 } },
    {
      name: 'oneDevicePerSlot',
      key: { 'activation.slot': 1, 'activation.applicationId': 1 },
      unique: true,
      partialFilterExpression: { 'activation.slot': { $exists: true } },
    },
  ],
};

/** Index that finds deactivated devices, ordered by the time of deactivation (ADR 0045). */
export const retentionIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [
    { name: 'deactivated', key: { 'activation.applicationId': 1, deactivatedAtMs: 1 } },
  ],
};

import { type OwingDocument, owingIndex } from '@headset-cloud/kit/audit/record.ts';
import { idempotencyIndexes } from '@headset-cloud/kit/idempotency.ts';
import type { IndexDescription } from '@headset-cloud/kit/store/operations.ts';
import type { PastAssociation } from '../domain/association.ts';
import type { Activation, LifecycleChange, Pending, Undo } from '../domain/device.ts';
import type { Camera, HardwareModel } from '../domain/hardware.ts';
import type { RegisteredKey } from '../domain/headset-key.ts';
import type { Limits } from '../domain/limits.ts';
import type { Reported } from '../domain/reported.ts';
import type { AddressSetting } from '../domain/settings.ts';

export interface DeveloperDocument extends OwingDocument {
  _id: string;
  name: string;
}

/** One document per client: a client belongs to one developer because its id is unique. */
export interface DeveloperClientDocument {
  /** OIDC client id. */
  _id: string;
  developerId: string;
}

export interface ApplicationDocument extends OwingDocument {
  _id: string;
  developerId: string;
  name: string;
  settings: Partial<Record<AddressSetting, string>>;
  /** Sealed, base64; absent: never issued. */
  authenticationKey?: string;
  /** Ids of the newest changes, so that a repeat does not undo a later one. */
  recentChanges: string[];
  createdAt: Date;
  /** Since when an operator has had it forgotten (ADR 0047): nothing else is left of it. Absent: none has. */
  forgottenAtMs?: number;
  /** The newest run of the command that did. */
  forgetRun?: string;
}

export interface ContractDocument extends OwingDocument {
  /** Application id. */
  _id: string;
  activationLimit: number;
  /** Rises with each change of the contract, and after each change of its slots. */
  changes: number;
  /** Set when the application was forgotten (ADR 0047): no device is activated any more. */
  closed?: true;
  /** The slots as release 0.1.0 counts them: it counts again when the two times are past. Not read. */
  freeSlots: number;
  takes: unknown[];
  returns: unknown[];
  checkAtMs: number;
  recountAtMs: number;
  /** Limits of its own (ADR 0040). */
  limits?: Partial<Limits>;
}

/** One document for each IMEI that a contract names: contracts may name thousands. */
export interface ContractDeviceDocument {
  /** `contractDeviceId`. */
  _id: string;
  applicationId: string;
  deviceId: string;
}

export interface DeviceDocument extends OwingDocument {
  /** IMEI. */
  _id: string;
  keys: RegisteredKey[];
  /** When a session with a key was last noted, by key id; milliseconds since 1970. Absent: none was. */
  keysUsedAtMs?: Record<string, number>;
  /** When it last lost a key; milliseconds since 1970. Absent: it lost none, or release 0.1.0 removed it. */
  keyRemovedAtMs?: number;
  epoch: number;
  lastTransactionId: number;
  recent: number[];
  activation?: StoredActivation;
  /** Since when it is not activated; absent: it is, or release 0.1.0 deactivated it. Null: for queries only. */
  deactivatedAtMs?: number | null;
  /**
   * Since when an operator has had it forgotten (ADR 0047): reports are dropped. Absent: none has, or it got a key
   * since.
   */
  forgottenAtMs?: number;
  /** The slot as release 0.1.0 counts it, which the index `slot` is for; written, but not read. */
  slot?: { applicationId: string; id: string };
  /** Written by release 0.1.0, and not read. */
  intent?: unknown;
  returned?: unknown;
  pending: Pending[];
  /** Absent: nothing was undone, or all of its work is done. */
  undo?: Undo;
  /** Absent in documents of older versions: counts as empty. */
  lifecycle?: LifecycleChange[];
  /** Ended activations, oldest first; absent: none. */
  past?: PastAssociation[];
  /** When the sweeper has to handle pending work or an intent; absent: there is none. */
  dueAtMs?: number;
  reported: Reported;
  /** Free text of the operator; absent: none. */
  specificDestination?: string;
}

/** Without `sinceEpoch` it was written by an older version and counts since its own activation epoch. */
export type StoredActivation = Omit<Activation, 'sinceEpoch'> & Partial<Pick<Activation, 'sinceEpoch'>>;

export interface HardwareModelDocument extends OwingDocument {
  /** Device id; the document holds the device's reported state. */
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

/** Made by step 1 (steps.ts); every query of this service uses one of them or `_id`. */
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

/** The collections whose documents owe records of changes; their index is made by step 2. */
export const owingCollections = [
  collections.developers,
  collections.applications,
  collections.contracts,
  collections.devices,
  collections.hardwareModels,
] as const;

export const owingIndexes: Readonly<Record<string, IndexDescription[]>> = Object.fromEntries(
  owingCollections.map((name) => [name, [owingIndex]]),
);

/** Finds the device that has a key. Not unique: release 0.1.0 gives one key to several (ADR 0034). */
export const keysIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [{ name: 'key', key: { 'keys.keyId': 1 }, sparse: true }],
};

/** Finds devices that have just lost a key (ADR 0038). */
export const removedKeysIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [{ name: 'keyRemoved', key: { keyRemovedAtMs: 1 }, sparse: true }],
};

/**
 * No two devices have one slot of a contract (ADR 0011). Release 0.1.0 writes no number, so the unique index
 * refuses none of its writes.
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

/** Finds devices that are not activated, by the time since when (ADR 0045). */
export const retentionIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.devices]: [
    { name: 'deactivated', key: { 'activation.applicationId': 1, deactivatedAtMs: 1 } },
  ],
};

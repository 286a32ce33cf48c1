import { type PendingAuditFields, pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Binary } from 'mongodb';
import type { PlansEntry } from '../domain/plans.ts';
import type { UsageKind } from '../domain/usage.ts';

export interface UsageDocument extends PendingAuditFields {
  /** Usage id. */
  _id: string;
  applicationId: string;
  /** Empty if not known. */
  deviceId: string;
  kind: UsageKind;
  startedAtMs: number;
  durationMs: number;
  /** The start as the source reported it, set if `startedAtMs` replaces it. */
  reportedStartedAtMs?: number;
  /** `touchedMonths`: the months whose bills may include this usage, in any time zone. */
  months: number[];
  /** True until the usage is on a sheet. A bill reads this document only if it is loose. */
  loose?: true;
}

/**
 * A sheet: the usage of one device in one month, in one document. Usage without a known device has one sheet as well.
 * So a bill reads thousands of sheets instead of hundreds of thousands of usages. An entry is a copy of a usage, with
 * a key derived from the usage id. Writing an entry again changes nothing.
 */
export interface SheetDocument {
  /** Application, device and month. */
  _id: string;
  applicationId: string;
  deviceId: string;
  /** `monthKey`. */
  month: number;
  /** Approximate number of entries; repeats are counted again. */
  size: number;
  entries: Record<string, SheetEntry>;
}

/** Index in `usageKinds`, startedAtMs, durationMs. */
export type SheetEntry = [kind: number, startedAtMs: number, durationMs: number];

export interface LifecycleDocument {
  /** Device, epoch and kind. */
  _id: string;
  applicationId: string;
  deviceId: string;
  epoch: number;
  kind: 'activated' | 'deactivated';
  atMs: number;
  undone?: true;
}

export interface PlansDocument extends PendingAuditFields {
  /** Application and device. */
  _id: string;
  applicationId: string;
  deviceId: string;
  /** Rises with each change. */
  revision: number;
  /** Oldest first. */
  history: PlansEntry[];
}

export interface BillDocument {
  /** Application and month. */
  _id: string;
  /** The bill as compressed JSON. */
  bill: Binary | Uint8Array;
}

export const collections = {
  usage: 'usage',
  sheets: 'sheets',
  lifecycle: 'lifecycle',
  plans: 'plans',
  bills: 'bills',
} as const;

/** Created by step 1 (steps.ts). Every query of this service uses one of these indexes or `_id`. */
export const billingIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.usage]: [
    { name: 'month', key: { applicationId: 1, months: 1, startedAtMs: 1, _id: 1 } },
    {
      name: 'loose',
      key: { loose: 1, applicationId: 1, months: 1 },
      partialFilterExpression: { loose: true },
    },
  ],
  [collections.sheets]: [{ name: 'month', key: { applicationId: 1, month: 1 } }],
  [collections.lifecycle]: [{ name: 'device', key: { applicationId: 1, deviceId: 1, epoch: 1, kind: 1 } }],
  [collections.plans]: [{ name: 'device', key: { applicationId: 1, deviceId: 1 } }],
};

/** Collections whose documents have pending audit records; their index is created by step 2. */
export const auditedCollections = [collections.usage, collections.plans] as const;

export const pendingAuditIndexes: Readonly<Record<string, IndexDescription[]>> = Object.fromEntries(
  auditedCollections.map((name) => [name, [pendingAuditIndex]]),
);

/** Indexes that find old usage, to delete it (ADR 0045). */
export const retentionIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.usage]: [{ name: 'started', key: { startedAtMs: 1 } }],
};

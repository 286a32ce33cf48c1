import type { IndexDescription } from 'mongodb';
import type { PlansEntry } from '../domain/plans.ts';
import type { UsageKind } from '../domain/usage.ts';

export interface UsageDocument {
  /** Usage id. */
  _id: string;
  applicationId: string;
  /** Empty: not known. */
  deviceId: string;
  kind: UsageKind;
  startedAtMs: number;
  durationMs: number;
  /** `touchedMonths`: in which bills to look for it, in whatever time zone they are. */
  months: number[];
}

export interface LifecycleDocument {
  /** Device, epoch and kind. */
  _id: string;
  applicationId: string;
  deviceId: string;
  epoch: number;
  kind: 'activated' | 'deactivated';
  atMs: number;
}

export interface PlansDocument {
  /** Application and device. */
  _id: string;
  applicationId: string;
  deviceId: string;
  /** Rises with each change. */
  revision: number;
  /** Oldest first. */
  history: PlansEntry[];
}

export const collections = { usage: 'usage', lifecycle: 'lifecycle', plans: 'plans' } as const;

/** Created at start; every query of this service stands on one of them or on `_id`. */
export const billingIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.usage]: [{ name: 'month', key: { applicationId: 1, months: 1, startedAtMs: 1, _id: 1 } }],
  [collections.lifecycle]: [{ name: 'device', key: { applicationId: 1, deviceId: 1, epoch: 1, kind: 1 } }],
  [collections.plans]: [{ name: 'device', key: { applicationId: 1, deviceId: 1 } }],
};

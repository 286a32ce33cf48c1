import type { Presence } from './network-status.ts';

/**
 * Order and time of a reported change. Report ids give the order, because a headset's clock may be wrong by days.
 */
export interface Moment {
  /** Rises over the lifetime of the headset. */
  readonly reportId: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Epoch of the activation that the headset had at that time. The epoch decides who may read the value (rule A7). */
  readonly epoch: number;
}

/** A value that a headset reported. */
export interface Dated<T> extends Moment {
  readonly value: T;
}

export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** Fields that change independently, each with its own time. */
export interface ReportedFields {
  readonly power?: Dated<string>;
  readonly wearing?: Dated<string>;
  /** The headset's own report of its network, for operators only (rule A21). */
  readonly network?: Dated<string>;
  readonly charging?: Dated<string>;
  readonly battery?: Dated<number>;
  readonly location?: Dated<Position>;
}

/** A headset's hello at the start of a session. */
export interface Introduction {
  /** Session epoch; rises with each session and orders introductions. */
  readonly sessionEpoch: number;
  /** Start of the session by the server's clock; absent in documents of older versions. */
  readonly atMs?: number;
  /** The highest report id that the headset had used before this hello; absent if the headset did not send it. */
  readonly lastReportId?: number;
  /** Set if two headsets probably used the device's identity at the start of the session. */
  readonly sharedIdentity?: true;
  readonly clientVersion: string;
  readonly firmwareVersion: string;
  readonly apps: readonly { readonly package: string; readonly version: string }[];
  readonly languages: readonly string[];
  readonly macAddressWifi: string;
  readonly macAddressBluetooth: string;
  readonly modelIdentifier: string;
}

/** The software that is installed on a headset. */
export interface Software {
  readonly firmwareVersion: string;
  readonly apps: readonly { readonly package: string; readonly version: string }[];
  readonly languages: readonly string[];
}

/** A headset's report of its software after a change. */
export interface Inventory extends Software, Moment {
  /** Epoch of the session in which the inventory arrived; absent in documents of release 0.1.0. */
  readonly sessionEpoch?: number;
}

/** A device's reported state (specification API 3). */
export interface Reported extends ReportedFields {
  readonly introduction?: Introduction;
  /** The highest activation epoch with which a session is known to have started. */
  readonly introducedEpoch?: number;
  readonly inventory?: Inventory;
  /** The newest session that ended without a successor within the offline interval (rule A21). */
  readonly offline?: { readonly sessionEpoch: number; readonly atMs: number };
}

/** Times when the headset was last online and last offline, as the cloud observed it. */
export function presenceOf({ introduction, offline }: Reported): Presence {
  return {
    ...(introduction && {
      online: { sessionEpoch: introduction.sessionEpoch, atMs: introduction.atMs ?? 0 },
    }),
    ...(offline && { offline }),
  };
}

/**
 * The part of the state that an application may read if it has had the device since activation epoch `sinceEpoch`
 * without a break (rule A7): only state that was reported under its own activation.
 */
export function readableSince(reported: Reported, sinceEpoch: number): Reported {
  const { introduction, introducedEpoch, inventory, offline, network, ...fields } = reported;
  const epochOf = (moment: unknown) => (moment as Partial<Moment> | undefined)?.epoch ?? -1;
  const readable: Reported = Object.fromEntries(
    Object.entries(fields).filter(([, dated]) => epochOf(dated) >= sinceEpoch),
  );
  return {
    ...readable,
    ...(introduction && isIntroduced(reported, sinceEpoch) && { introduction }),
    ...(inventory && epochOf(inventory) >= sinceEpoch && { inventory }),
  };
}

/** True if a session has started at activation epoch `sinceEpoch` or later. Then the application may read its hello. */
function isIntroduced(
  { introducedEpoch = -1 }: Pick<Reported, 'introducedEpoch'>,
  sinceEpoch: number,
): boolean {
  return introducedEpoch >= sinceEpoch;
}

/**
 * The software that the headset last reported, by its inventory or by its hello. Both are stored, so that the order of
 * arrival does not matter.
 */
export function reportedSoftware({ introduction, inventory }: Reported): Software | undefined {
  if (!inventory || !introduction) return inventory ?? introduction;
  return isReportedAfter(inventory, introduction) ? inventory : introduction;
}

/**
 * True if the headset reported the inventory after the hello. Compares report ids if the hello contains one. Otherwise
 * compares times, which a wrong clock can distort.
 */
function isReportedAfter(inventory: Inventory, { sessionEpoch, lastReportId, atMs }: Introduction): boolean {
  const arrivedIn = inventory.sessionEpoch ?? sessionEpoch;
  if (arrivedIn !== sessionEpoch) return arrivedIn > sessionEpoch;
  // The inventory may be older than the hello: the headset may have stored it before the session began.
  if (lastReportId !== undefined) return inventory.reportId > lastReportId;
  return inventory.atMs >= (atMs ?? 0);
}

/** Versions that decide whether an operation is allowed; empty if not known. */
export interface ReportedVersions {
  readonly client: string;
  readonly firmware: string;
}

export function reportedVersions(reported: Reported): ReportedVersions {
  return {
    client: reported.introduction?.clientVersion ?? '',
    firmware: reportedSoftware(reported)?.firmwareVersion ?? '',
  };
}

/** The newer of two inventories, whatever the order of arrival. */
export function newerInventory(one: Inventory, other: Inventory): Inventory {
  return isBefore(other, one) ? one : other;
}

/** Fields of a headset's change report; an absent field is unchanged. */
export interface ReportedChange {
  readonly power?: string;
  readonly wearing?: string;
  readonly network?: string;
  readonly charging?: string;
  readonly batteryPercentage?: number;
  readonly location?: Position;
}

const allowedValues = {
  power: ['started', 'finished'],
  wearing: ['device_wear', 'device_takeoff'],
  network: ['connectivity_online', 'connectivity_offline'],
  charging: ['start_charging', 'stop_charging'],
} as const;

/** The fields of a change with their times. Values outside the specification are left out. */
export function datedFields(change: ReportedChange, moment: Moment): ReportedFields {
  const fields: { -readonly [K in keyof ReportedFields]: ReportedFields[K] } = {};
  for (const name of ['power', 'wearing', 'network', 'charging'] as const) {
    const value = change[name];
    if (value !== undefined && (allowedValues[name] as readonly string[]).includes(value)) {
      fields[name] = { value, ...moment };
    }
  }
  const battery = change.batteryPercentage;
  if (battery !== undefined && battery >= 0 && battery <= 100) {
    fields.battery = { value: battery, ...moment };
  }
  const { location } = change;
  if (location && Math.abs(location.latitude) <= 90 && Math.abs(location.longitude) <= 180) {
    const { latitude, longitude } = location;
    fields.location = { value: { latitude, longitude }, ...moment };
  }
  return fields;
}

/** True if `one` was reported before `other`. Activation epochs only rise, and report ids rise within an epoch. */
function isBefore(one: Moment, other: Moment): boolean {
  return one.epoch === other.epoch ? one.reportId < other.reportId : one.epoch < other.epoch;
}

/** Merges the fields of two reports: the newer value of each field, whatever the order of arrival. */
export function newerFields(one: ReportedFields, other: ReportedFields): ReportedFields {
  const merged: Record<string, Dated<unknown>> = { ...one };
  for (const [name, dated] of Object.entries(other) as [string, Dated<unknown>][]) {
    const known = merged[name];
    if (!known || !isBefore(dated, known)) merged[name] = dated;
  }
  return merged as ReportedFields;
}

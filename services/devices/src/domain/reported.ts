/** A value as a headset reported it, with the time it happened; milliseconds since 1970. */
export interface Dated<T> {
  readonly value: T;
  readonly atMs: number;
}

export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** The fields that change one by one, each with its own date. */
export interface ReportedFields {
  readonly power?: Dated<string>;
  readonly wearing?: Dated<string>;
  readonly network?: Dated<string>;
  readonly charging?: Dated<string>;
  readonly battery?: Dated<number>;
  readonly location?: Dated<Position>;
}

/** What a headset says of itself when a session begins. */
export interface Introduction {
  /** Rises with each session: orders introductions. */
  readonly sessionEpoch: number;
  /** When the session began, by the server's clock; absent in what was kept before it was noted. */
  readonly atMs?: number;
  readonly clientVersion: string;
  readonly firmwareVersion: string;
  readonly apps: readonly { readonly package: string; readonly version: string }[];
  readonly languages: readonly string[];
  readonly macAddressWifi: string;
  readonly macAddressBluetooth: string;
  readonly modelIdentifier: string;
}

/** What is installed and in force on a headset. */
export interface Software {
  readonly firmwareVersion: string;
  readonly apps: readonly { readonly package: string; readonly version: string }[];
  readonly languages: readonly string[];
}

/** What a headset says of its software after a change of it. */
export interface Inventory extends Software {
  /** Rises over the headset's life: orders inventories. */
  readonly reportId: number;
  /** When it changed; milliseconds since 1970. */
  readonly atMs: number;
}

/** A device's reported state (specification api.md section 3). */
export interface Reported extends ReportedFields {
  readonly introduction?: Introduction;
  readonly inventory?: Inventory;
}

/**
 * The software as the headset said last: a report of a change, unless a session began after it, whose
 * introduction is complete. Both are kept apart, so that the order of their arrival does not matter.
 */
export function reportedSoftware({ introduction, inventory }: Reported): Software | undefined {
  if (!inventory) return introduction;
  return introduction && (introduction.atMs ?? 0) > inventory.atMs ? introduction : inventory;
}

/**
 * When something happened: by the headset's clock, but not after its arrival, so that a clock that runs
 * ahead cannot keep later changes out; the arrival where the headset did not say. Milliseconds since 1970.
 */
export function occurrence(occurredAtMs: number, receivedAtMs: number): number {
  return occurredAtMs > 0 ? Math.min(occurredAtMs, receivedAtMs) : receivedAtMs;
}

/** What a headset's change report may say; absent: unchanged. */
export interface ReportedChange {
  readonly power?: string;
  readonly wearing?: string;
  readonly network?: string;
  readonly charging?: string;
  readonly batteryPercentage?: number;
  readonly location?: Position;
}

const words = {
  power: ['started', 'finished'],
  wearing: ['device_wear', 'device_takeoff'],
  network: ['connectivity_online', 'connectivity_offline'],
  charging: ['start_charging', 'stop_charging'],
} as const;

/** The dated fields of a change at its `occurrence`. Values that the specification does not know are left out. */
export function datedFields(change: ReportedChange, atMs: number): ReportedFields {
  const fields: { -readonly [K in keyof ReportedFields]: ReportedFields[K] } = {};
  for (const name of ['power', 'wearing', 'network', 'charging'] as const) {
    const value = change[name];
    if (value !== undefined && (words[name] as readonly string[]).includes(value)) {
      fields[name] = { value, atMs };
    }
  }
  const battery = change.batteryPercentage;
  if (battery !== undefined && battery >= 0 && battery <= 100) fields.battery = { value: battery, atMs };
  const at = change.location;
  if (at && Math.abs(at.latitude) <= 90 && Math.abs(at.longitude) <= 180) {
    fields.location = { value: { latitude: at.latitude, longitude: at.longitude }, atMs };
  }
  return fields;
}

/** Of two reports' fields, the newer of each; at the same time, the later report's. */
export function newerFields(earlier: ReportedFields, later: ReportedFields): ReportedFields {
  const merged: Record<string, Dated<unknown>> = { ...earlier };
  for (const [name, dated] of Object.entries(later) as [string, Dated<unknown>][]) {
    const known = merged[name];
    if (!known || known.atMs <= dated.atMs) merged[name] = dated;
  }
  return merged as ReportedFields;
}

import { ActivityFold, type LifecycleChange } from './activity.ts';
import type { Span } from './month.ts';
import { noPlans, type Plans } from './plans.ts';
import { type Usage, type UsageKind, usageKinds, usedWithin } from './usage.ts';

/** Hours, rounded up. */
export type Hours = Readonly<Record<UsageKind, number>>;

export interface DeviceBill {
  readonly deviceId: string;
  readonly plans: Plans;
  readonly hours: Hours;
}

/** An application's month (specification API 3, rule A17). */
export interface Bill {
  /** Devices that the application had activated at some time in the month. */
  readonly numberOfDevices: number;
  /** Devices that are activated now; present only for the current month. */
  readonly activateDevices?: number;
  /** Devices that were activated or used something, by id. */
  readonly devices: readonly DeviceBill[];
  /** Usage without a known device. */
  readonly others: Hours;
}

/** Used milliseconds of each kind. */
type Sums = Record<UsageKind, number>;

const hourMs = 3_600_000;

const noSums = (): Sums => ({ videoMeeting: 0, speechRecognition: 0 });

/** Rounds the sums of the whole month up to hours (specification API 9). */
function roundUp(sums: Sums): Hours {
  const hours = noSums();
  for (const kind of usageKinds) hours[kind] = Math.ceil(sums[kind] / hourMs);
  return hours;
}

/** Computes a bill from streams of records. Keeps only the devices of the bill in memory. */
export class BillSum {
  readonly #span: Span;
  readonly #devices = new Map<string, { readonly sums: Sums; plans: Plans }>();
  readonly #others = noSums();
  #inMonth = 0;
  #now = 0;
  /** The device whose changes are being read. */
  #current: { readonly deviceId: string; readonly fold: ActivityFold } | undefined;

  constructor(span: Span) {
    this.#span = span;
  }

  addUsage({
    deviceId,
    kind,
    ...usage
  }: Pick<Usage, 'deviceId' | 'kind' | 'startedAtMs' | 'durationMs'>): void {
    const usedMs = usedWithin(usage, this.#span);
    if (usedMs === 0) return;
    const sums = deviceId === '' ? this.#others : this.#device(deviceId).sums;
    sums[kind] += usedMs;
  }

  /** Adds a change of a device. Pass the changes in the order of device and activation epoch. */
  addChange(change: LifecycleChange): void {
    if (this.#current?.deviceId !== change.deviceId) this.#endDevice();
    this.#current ??= { deviceId: change.deviceId, fold: new ActivityFold(this.#span) };
    this.#current.fold.add(change);
  }

  /** Adds the plans of a device that is on the bill. Call it after all usage and changes were added. */
  addPlans(deviceId: string, plans: Plans): void {
    this.#endDevice();
    const device = this.#devices.get(deviceId);
    if (device) device.plans = plans;
  }

  /** Returns the bill. `current`: true if the month is the current month. */
  bill(current: boolean): Bill {
    this.#endDevice();
    return {
      numberOfDevices: this.#inMonth,
      ...(current && { activateDevices: this.#now }),
      devices: [...this.#devices]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([deviceId, { sums, plans }]) => ({ deviceId, plans, hours: roundUp(this.#limitSpeech(sums)) })),
      others: roundUp(this.#others),
    };
  }

  /**
   * Limits speech recognition to the length of the month. A headset reports its own usage and recognizes one voice at a
   * time, so a larger sum cannot be true.
   */
  #limitSpeech(sums: Sums): Sums {
    const { fromMs, toMs } = this.#span;
    return { ...sums, speechRecognition: Math.min(sums.speechRecognition, toMs - fromMs) };
  }

  #endDevice(): void {
    if (!this.#current) return;
    const { deviceId, fold } = this.#current;
    const { inMonth, now } = fold.activity;
    this.#current = undefined;
    if (now) this.#now += 1;
    if (!inMonth) return;
    this.#inMonth += 1;
    this.#device(deviceId);
  }

  #device(deviceId: string): { readonly sums: Sums; plans: Plans } {
    let device = this.#devices.get(deviceId);
    if (!device) {
      device = { sums: noSums(), plans: noPlans };
      this.#devices.set(deviceId, device);
    }
    return device;
  }
}

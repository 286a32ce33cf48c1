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

/** Milliseconds of each kind. */
type Sums = Record<UsageKind, number>;

const hourMs = 3_600_000;

const noSums = (): Sums => ({ videoMeeting: 0, speechRecognition: 0 });

/** One rounding for the whole month: any part of an hour counts as one (specification API 9). */
function roundUp(sums: Sums): Hours {
  const hours = noSums();
  for (const kind of usageKinds) hours[kind] = Math.ceil(sums[kind] / hourMs);
  return hours;
}

/** Sums up a bill from a stream of records; keeps only the bill's own devices in memory. */
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

  /** In the order of device and epoch. */
  addChange(change: LifecycleChange): void {
    if (this.#current?.deviceId !== change.deviceId) this.#endDevice();
    this.#current ??= { deviceId: change.deviceId, fold: new ActivityFold(this.#span) };
    this.#current.fold.add(change);
  }

  /** Must be called after usage and changes: plans of devices that are not on the bill are ignored. */
  addPlans(deviceId: string, plans: Plans): void {
    this.#endDevice();
    const device = this.#devices.get(deviceId);
    if (device) device.plans = plans;
  }

  /** `current`: the month is the current one. */
  bill(current: boolean): Bill {
    this.#endDevice();
    return {
      numberOfDevices: this.#inMonth,
      ...(current && { activateDevices: this.#now }),
      devices: [...this.#devices]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([deviceId, { sums, plans }]) => ({ deviceId, plans, hours: roundUp(this.#possible(sums)) })),
      others: roundUp(this.#others),
    };
  }

  /**
   * Limits speech to the length of the month. A headset has one voice and reports the times itself, so more is not
   * possible.
   */
  #possible(sums: Sums): Sums {
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

import type { QueuedFirmware } from '../domain/firmware.ts';

/** Minimum activation epoch of a device: transactions of older activation epochs are canceled (rule B4). */
export interface MinimumEpoch {
  readonly epoch: number;
  readonly reason: 'deactivation' | 'reset';
}

/** Counters of a device (rule B4). */
export interface DeviceCounters {
  readonly minimumEpoch: MinimumEpoch | undefined;
  /** Highest transaction id so far; 0: none. */
  readonly lastId: number;
  /** Returns the id that was created before `id`; 0: `id` is the first. */
  before(id: number): number;
}

/** Whether a create with this id and activation epoch is allowed. */
export type AdvanceOutcome = 'advanced' | 'id-too-low' | 'epoch-too-old';

/** Counters of devices (rule B4), with their requested firmware updates. */
export interface DeviceCountersStore {
  /**
   * Advances the counters for a create. `mustRise`: the id must be above the last id; otherwise a repeat is allowed.
   * `minimumEpoch` becomes the device's minimum activation epoch.
   */
  advanceCounters(
    deviceId: string,
    to: { id: number; epoch: number; mustRise: boolean; minimumEpoch?: MinimumEpoch },
    now: number,
  ): Promise<AdvanceOutcome>;
  /** Reads the counters of a device; concurrent reads are batched. */
  countersOf(deviceId: string): Promise<DeviceCounters>;
  minimumEpochOf(deviceId: string): Promise<MinimumEpoch | undefined>;
  /**
   * Advances the minimum activation epoch without a transaction, unless the device already has this activation epoch.
   */
  advanceMinimumEpoch(deviceId: string, minimumEpoch: MinimumEpoch, now: number): Promise<void>;
  /** Returns the requested firmware updates; `changes` is the version of the list. */
  firmwareQueue(deviceId: string): Promise<{
    readonly queued: readonly QueuedFirmware[];
    readonly changes: number;
    readonly minActivationEpoch: number;
  }>;
  /** Replaces the list if its version is `changes`; false: it has changed since. */
  replaceFirmwareQueue(
    deviceId: string,
    changes: number,
    queued: readonly QueuedFirmware[],
  ): Promise<boolean>;
  /** Claims, until `until`, devices whose cancellations below the minimum activation epoch are not complete. */
  claimDueCancellations(now: number, until: number, limit: number): Promise<string[]>;
  /** Sets due times after `latest` to now: such a time was written by a clock that was ahead. */
  correctCancellationDueTimes(latest: number, now: number): Promise<void>;
  /** Marks the cancellations below this minimum activation epoch as complete. */
  clearCancellationsDue(deviceId: string, minActivationEpoch: number): Promise<void>;
}

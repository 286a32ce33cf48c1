import type { QueuedFirmware } from '../domain/firmware.ts';

/** The device's floor: transactions of older activation epochs are over (rule B4). */
export interface Floor {
  readonly epoch: number;
  readonly reason: 'deactivation' | 'reset';
}

/** The head of a device (rule B4). */
export interface Head {
  readonly floor: Floor | undefined;
  /** The highest id so far; 0 if none. */
  readonly lastId: number;
  /** The id before that one, in the order of creation; 0: it is the first. */
  before(id: number): number;
}

/** Result of raising a device's head: whether a create with that id and activation epoch is allowed. */
export type HeadRaise = 'raised' | 'id-too-low' | 'epoch-too-old';

/** The heads of devices (rule B4), with the firmware updates that were asked for. */
export interface Heads {
  raiseHead(
    deviceId: string,
    raise: { id: number; epoch: number; mustRise: boolean; floor?: Floor },
    now: number,
  ): Promise<HeadRaise>;
  /** The head of a device; reads of one turn are batched. */
  headOf(deviceId: string): Promise<Head>;
  floorOf(deviceId: string): Promise<Floor | undefined>;
  /** Raises the floor without a transaction, unless the device's activation epoch is that high already. */
  raiseFloor(deviceId: string, floor: Floor, now: number): Promise<void>;
  /** The requested firmware updates; `changes` is the version of the list. */
  firmwareQueue(deviceId: string): Promise<{
    readonly queued: readonly QueuedFirmware[];
    readonly changes: number;
    readonly floorEpoch: number;
  }>;
  /** Replaces the list if it is unchanged; false: it has changed since it was read. */
  replaceFirmwareQueue(
    deviceId: string,
    changes: number,
    queued: readonly QueuedFirmware[],
  ): Promise<boolean>;
  claimDueFloors(now: number, until: number, limit: number): Promise<string[]>;
  /** Makes floors due now that are due after `latest`; a wrong clock wrote such a time. */
  recallFloors(latest: number, now: number): Promise<void>;
  clearFloorDue(deviceId: string, floorEpoch: number): Promise<void>;
}

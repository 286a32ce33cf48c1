/** A connection of a device, and the data of its events. */
export interface ConnectionOfDevice {
  readonly connectionId: string;
  /** The callbacks of its events and recordings. */
  readonly notificationIds: string[];
  /** Number of events that name the device. */
  readonly events: number;
  /** Number of events that are not processed yet. */
  readonly held: number;
}

/** Removes data that operators want forgotten (ADR 0047). */
export interface ForgetStore {
  page(deviceId: string, after: string): Promise<{ connections: ConnectionOfDevice[]; next: string }>;
  /** Empties the events of these connections of the device, and removes the device from the connections. Idempotent. */
  forget(
    deviceId: string,
    connectionIds: readonly string[],
  ): Promise<{ readonly connections: number; readonly events: number; readonly left: number }>;
}

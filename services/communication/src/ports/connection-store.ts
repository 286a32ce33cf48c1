export interface Connection {
  readonly createdAtMs: number | undefined;
  readonly destroyed: boolean;
  /** The verified device, null if there is none; undefined until this is decided. */
  readonly deviceId: string | null | undefined;
  /** Time up to which the connection is billed or is being billed; undefined if no part is. */
  readonly billedToMs: number | undefined;
}

/** A part of a connection's time that is billed without a 'destroyed' event. */
export interface SilentPart {
  readonly connectionId: string;
  readonly channelId: string;
  readonly deviceId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** True if the part begins with the connection. */
  readonly isFirst: boolean;
}

export interface ConnectionStore {
  get(connectionId: string): Promise<Connection | undefined>;
  /** The verified devices of the connections. */
  devices(connectionIds: readonly string[]): Promise<string[]>;
  /** Stores the data of an event: start, end, and time of the last event. Returns the stored state. */
  recordEvent(
    connectionId: string,
    change: {
      channelId: string;
      createdAtMs: number | undefined;
      destroyed: boolean;
      /** Set for an event of the connection itself: its time, and when the connection counts as silent after it. */
      alive?: { atMs: number; silentAtMs: number };
    },
    nowMs: number,
  ): Promise<Connection>;
  /**
   * Claims connections that are silent at `nowMs`. The claim ends at `untilMs`. Returns the parts to bill. If
   * `billed` is not called before the claim ends, a later call returns the same part again.
   */
  claimSilent(nowMs: number, untilMs: number, limit: number): Promise<SilentPart[]>;
  /** Stores that the part is billed. */
  billed(part: SilentPart): Promise<void>;
  /** Stores the first decision about the connection's device. Returns the stored decision. */
  decideDevice(connectionId: string, deviceId: string | null): Promise<string | null>;
}

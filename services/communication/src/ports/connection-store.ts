export interface Connection {
  readonly createdAtMs: number | undefined;
  readonly destroyed: boolean;
  /** Undefined until decided. */
  readonly deviceId: string | null | undefined;
  /** Its time is billed, or is being billed, up to this time; undefined: no part. */
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
  devices(connectionIds: readonly string[]): Promise<string[]>;
  /** Stores that the connection is alive (or has ended) and when it began. Returns the stored state. */
  note(
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
   * Claims connections that are silent at `nowMs` until `untilMs`. Returns the parts to bill. The same part is returned
   * again until `billed` is called.
   */
  claimSilent(nowMs: number, untilMs: number, limit: number): Promise<SilentPart[]>;
  billed(part: SilentPart): Promise<void>;
  /** Stores the first decision about the connection's device. Returns the stored decision. */
  decideDevice(connectionId: string, deviceId: string | null): Promise<string | null>;
}

/** A registered session. */
export interface Registration {
  /** Epoch of the new session; higher than the epoch of every earlier session of the headset. */
  readonly epoch: number;
  /** Reports up to this id are durable; 0: unknown. */
  readonly ackedReportId: number;
  /** The instance with the previous session, if that session is not released. */
  readonly earlierInstanceId: string | undefined;
  /** The previous session was closed because the headset did not answer (rule B6). */
  readonly afterUnresponsive: boolean;
}

/** A process of this service. */
export interface Instance {
  readonly instanceId: string;
  /** Address for the other instances; empty if the instance advertises none. */
  readonly address: () => string;
}

/** The instance with a headset's session. */
export interface Holder {
  readonly epoch: number;
  readonly instanceId: string;
  /** Address of the instance; empty if the instance advertises none. */
  readonly address: string;
}

/** An ended session. */
export interface EndedSession {
  readonly deviceId: string;
  readonly epoch: number;
  readonly ackedReportId: number;
  /** The session was closed because the headset did not answer. */
  readonly unresponsive: boolean;
}

/**
 * Which instance has the session of which headset (rule C6). A session counts only while its instance's lease is valid,
 * so that nothing needs to be removed when an instance dies.
 */
export interface SessionDirectory {
  /** Names this instance. */
  readonly instanceId: string;
  /** Makes this instance the holder; the newest registration wins. */
  register(deviceId: string): Promise<Registration>;
  /** Removes ended sessions, unless a newer session of the headset is registered. */
  release(sessions: readonly EndedSession[]): Promise<void>;
  /**
   * Returns the holder of a headset's session if the holder is alive. This instance counts as alive, even without a
   * valid lease. All calls of one event loop iteration share one query.
   */
  holder(deviceId: string): Promise<Holder | undefined>;
  /** Returns the holders that are alive, by device id, with one query. */
  holders(deviceIds: readonly string[]): Promise<Map<string, Holder>>;
  /** Returns the address of a live instance; undefined if the instance is not alive. */
  addressOf(instanceId: string): Promise<string | undefined>;
}

/** An ended session whose end is not published. */
export interface UnreportedEnd {
  readonly deviceId: string;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
}

/**
 * Ended sessions whose end is not published (rule A21), in the documents of the session directory. Each ended session
 * has an owner: the instance that measures how long the headset has been without a session. Every change is
 * conditional.
 */
export interface EndedSessions {
  /** The instances that hold sessions or own ended sessions, dead or alive. */
  owners(): Promise<string[]>;
  /**
   * Makes this instance the owner of all sessions of the dead instance `owner`. The time without a session starts at
   * `sinceMs`, by this instance's monotonic clock. Sessions that were open get `endedAtMs` as their end. Returns the
   * number of sessions that were open.
   */
  takeOver(owner: string, from: { readonly sinceMs: number; readonly endedAtMs: number }): Promise<number>;
  /** Makes this instance the owner, from `nowMs` on, of sessions that ended on an instance of release 0.1.0. */
  takeOverUnowned(nowMs: number): Promise<void>;
  /** Ended sessions of an owner whose time without a session started at `beforeMs` or earlier. */
  endedBefore(owner: string, beforeMs: number, limit: number): Promise<UnreportedEnd[]>;
  /** Records that these ends were published. */
  reported(ends: readonly UnreportedEnd[]): Promise<void>;
}

/**
 * The instances' leases (rule C6). An instance is alive while its beat counter rises. The reading instance measures the
 * time between two beats by its own monotonic clock, because wall clocks may be wrong or jump.
 */
export interface Leases {
  /**
   * Extends this instance's lease, and reads the other leases. `lapsed`: the lease had expired when this beat was
   * stored, even if the beat was sent in time.
   */
  renew(): Promise<{ readonly lapsed: boolean }>;
  /** Ends this instance's lease at once. */
  end(): Promise<void>;
  /** False after the lease has expired: other instances ignore this instance's sessions. */
  alive(): boolean;
  /** Since when the lease has been valid without a break, by the monotonic clock; infinite if the lease has expired. */
  unbrokenSinceMs(): number;
  /** Returns the addresses of the given instances that are alive, by id. This instance always counts as alive. */
  live(ids: ReadonlySet<string>): Promise<Map<string, string>>;
  /** Returns the beats of the other instances with this address, dead or alive, by id. */
  othersAt(address: string): Promise<Map<string, number>>;
  /** Removes the leases of dead instances, so that their sessions do not count any more. */
  remove(ids: readonly string[]): Promise<void>;
}

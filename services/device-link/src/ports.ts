/** A session as the store knows it. */
export interface Registration {
  /** The new session's epoch: above every earlier one of the headset. */
  readonly epoch: number;
  /** Reports up to this id are known to be durable; 0 when nothing is known. */
  readonly ackedReportId: number;
  /** The instance that held an earlier session, if one did. */
  readonly earlierInstanceId: string | undefined;
  /** The session before was closed because the headset did not answer (ruling B6). */
  readonly afterUnresponsive: boolean;
}

/** A process of this service. */
export interface Instance {
  readonly instanceId: string;
  /** Where the others reach it; empty when it advertises none. */
  readonly address: () => string;
}

/** Who holds a headset's session. */
export interface Holder {
  readonly epoch: number;
  readonly instanceId: string;
  /** Where that instance answers; empty when it advertises none. */
  readonly address: string;
}

/** A session that is over. */
export interface EndedSession {
  readonly deviceId: string;
  readonly epoch: number;
  readonly ackedReportId: number;
  /** It was closed because the headset did not answer. */
  readonly unresponsive: boolean;
}

/**
 * Which instance holds which headset (decision 6). Instances hold leases; a session counts only
 * while its instance's lease lives, so nothing needs to be undone when an instance dies.
 */
export interface SessionDirectory {
  /** Names this instance. */
  readonly instanceId: string;
  /** Makes this instance the holder; the newest registration wins. */
  register(deviceId: string): Promise<Registration>;
  /** Gives sessions back; a session that a newer one has replaced is left alone. */
  release(sessions: readonly EndedSession[]): Promise<void>;
  /**
   * The live holder of a headset's session; this instance counts as alive, whatever its lease.
   * Look-ups of one turn are one query.
   */
  holder(deviceId: string): Promise<Holder | undefined>;
  /** Live holders by device id; one query. */
  holders(deviceIds: readonly string[]): Promise<Map<string, Holder>>;
  /** The address of a live instance; undefined when it is not alive. */
  addressOf(instanceId: string): Promise<string | undefined>;
}

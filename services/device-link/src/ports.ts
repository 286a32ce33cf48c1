/** A session as the store knows it. */
export interface Registration {
  /** The new session's epoch: above every earlier one of the headset. */
  readonly epoch: number;
  /** Reports up to this id are known to be durable; 0 when nothing is known. */
  readonly ackedReportId: number;
  /** The instance that held an earlier session, if one did. */
  readonly earlierInstanceId: string | undefined;
  /** The session before was closed because the headset did not answer (rule B6). */
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
 * Which instance holds which headset (rule C6). Instances hold leases; a session counts only
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

/** How far the instances together have counted, in equal stretches of time in which they worked. */
export interface WatchCount {
  /** Rises by one for each stretch. */
  readonly count: number;
  /** After an outage it is counted anew from here: nobody is away since before it. */
  readonly from: number;
}

/** A headset without a session, of which nobody was told yet. */
export interface AwaySession {
  readonly deviceId: string;
  /** Of the session that ended. */
  readonly epoch: number;
  /** The count at which it was found to be away. */
  readonly since: number;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
}

/** Headsets that are away (rule A21), in the session directory's documents. Every change is conditional. */
export interface AwaySessions {
  count(): Promise<WatchCount>;
  /** One step on from `count`; undefined: another instance made it. `anew`: what was counted so far is void. */
  advance(count: number, anew: boolean): Promise<WatchCount | undefined>;
  /** What was counted before `from` is void. */
  beginAnew(from: number): Promise<void>;
  /** Sessions that have ended since are away from this count on; one write. */
  noteEnded(count: number): Promise<void>;
  /** The instances that hold sessions, dead or alive. */
  holders(): Promise<string[]>;
  /** The sessions of a dead instance are away from this count on; one write. Answers how many. */
  noteDead(instanceId: string, count: number, nowMs: number): Promise<number>;
  /** An instance that was taken for dead holds its sessions still. */
  reclaim(instanceId: string): Promise<void>;
  /** Some that have been away since that count or longer. */
  awaySince(count: number, limit: number): Promise<AwaySession[]>;
  /** They are known to be offline. */
  toldOffline(told: readonly AwaySession[]): Promise<void>;
}

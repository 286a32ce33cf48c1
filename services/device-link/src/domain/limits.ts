/** Bounds of the protocol and of what one session may hold in memory (proto README, "Limits"). */
export const limits = {
  /** The protocol version that this service speaks. */
  protocolVersion: 1,
  /** Largest message of a headset; bytes. Those to it hold a list of networks of 1 MiB at most (rule A22). */
  maxMessageBytes: 256 * 1024,
  /** Streams that one connection may hold at a time; a headset has one, a proxy may bring many. */
  maxStreamsOfConnection: 100,
  /** Offers that may be unanswered at a time; the rest waits. */
  maxInFlightOffers: 64,
  /** Offers that may wait for one session; beyond it Deliver answers `unavailable`. */
  maxPendingOffers: 1000,
  /**
   * Of those that wait, so many are kept whole, and of these but the next one only those up to so many bytes; the
   * rest is read when it is its turn. The same for hand-overs that wait for a judgement.
   */
  maxWholeOffers: 100,
  maxWholeOfferBytes: 16 * 1024,
  /** Offers that are read at a time where the judge left their operations out. */
  maxOffersRead: 32,
  /** Ended offers that a session remembers, so that a late repeat is not sent again. */
  maxRememberedOffers: 1024,
  /** Reports that may wait for the log before the stream is read on. */
  maxQueuedReports: 256,
  /** The same, in bytes. */
  maxQueuedReportBytes: 1024 * 1024,
  /** Reports that one publish carries. */
  maxReportsPerPublish: 128,
  /** Addresses that one session may ask for at a time; more are told to ask again. */
  maxUrlsInFlight: 8,
  /** Longest ticket of an artifact; bytes. */
  maxTicketBytes: 1024,
  /** Lifetime that a headset's token may have, and the skew that is forgiven; seconds. */
  maxTokenLifetimeS: 300,
  clockToleranceS: 60,
  /** A headset that is to be told its activation comes back within this; milliseconds. */
  activationRetryMs: 1000,
  /** A peer that does not take the end of its stream is cut off after this; milliseconds. */
  closeGraceMs: 2000,
} as const;

/** Limits of the protocol and of one session's memory (proto README, "Limits"). */
export const limits = {
  /** The protocol version that this service speaks. */
  protocolVersion: 1,
  /** Maximum size of a message from a headset; bytes. Messages to it contain lists of at most 1 MiB (rule A22). */
  maxMessageBytes: 256 * 1024,
  /** Maximum number of streams of one connection; a headset has one, a proxy may have many. */
  maxStreamsOfConnection: 100,
  /** Maximum number of unanswered offers; others wait. */
  maxInFlightOffers: 64,
  /** Maximum number of waiting offers of a session; beyond the limit Deliver returns `unavailable`. */
  maxPendingOffers: 1000,
  /**
   * Of the waiting offers, this many stay in memory; except for the first, only those up to this size. The others
   * are read before they are sent. The same limits apply to operations that wait for a reconciliation.
   */
  maxWholeOffers: 100,
  maxWholeOfferBytes: 16 * 1024,
  /** Maximum number of offers in one read of operations that a reconciliation left out. */
  maxOffersRead: 32,
  /** Number of ended offers that a session remembers, so that a late repetition is not sent again. */
  maxRememberedOffers: 1024,
  /** Maximum number of reports of a session that wait for the log; beyond the limit the stream is not read. */
  maxQueuedReports: 256,
  /** The same, in bytes. */
  maxQueuedReportBytes: 1024 * 1024,
  /** Maximum number of reports in one publish. */
  maxReportsPerPublish: 128,
  /** Maximum number of open URL requests of a session; others are answered with a retry delay. */
  maxUrlsInFlight: 8,
  /** Maximum length of a download ticket; bytes. */
  maxTicketBytes: 1024,
  /** Maximum lifetime of a headset's token, and accepted clock skew; seconds. */
  maxTokenLifetimeS: 300,
  clockToleranceS: 60,
  /** Maximum reconnect delay of a headset whose next welcome announces its activation; milliseconds. */
  activationRetryMs: 1000,
  /** A stream whose headset does not read its end is reset after this; milliseconds. */
  closeGraceMs: 2000,
} as const;

/** Limits of the protocol and of one session's memory (proto README, "Limits"). */
export const limits = {
  /** The protocol version that this service implements. */
  protocolVersion: 1,
  /** Maximum size of a message from a headset; bytes. Rule A22 limits the messages to a headset. */
  maxMessageBytes: 256 * 1024,
  /** Maximum number of streams of one connection; a headset has one, a proxy may have many. */
  maxStreamsOfConnection: 100,
  /** Maximum number of unanswered offers; others wait. */
  maxInFlightOffers: 64,
  /** Maximum number of waiting offers of a session; beyond the limit Deliver returns `unavailable`. */
  maxPendingOffers: 1000,
  /**
   * Maximum number of waiting offers whose operations are kept in memory. The operations of the other offers are read
   * before they are sent. The limit also applies to operations that wait for a reconciliation.
   */
  maxOffersInMemory: 100,
  /** Maximum size of each of these offers, except for the first offer, which may be larger; bytes. */
  maxOfferBytesInMemory: 16 * 1024,
  /** Maximum number of offers in one read of operations that are not in memory. */
  maxOffersRead: 32,
  /**
   * Maximum number of ended offers that a session remembers, so that a late repetition of an offer is not sent again.
   */
  maxRememberedOffers: 1024,
  /** Maximum number of reports of a session that wait for the log; beyond the limit the stream is not read. */
  maxQueuedReports: 256,
  /** Maximum size of these reports together; bytes. */
  maxQueuedReportBytes: 1024 * 1024,
  /** Maximum number of reports in one publish. */
  maxReportsPerPublish: 128,
  /** Maximum number of open URL requests of a session; others are answered with a retry delay. */
  maxUrlsInFlight: 8,
  /** Maximum length of a download ticket; bytes. */
  maxTicketBytes: 1024,
  /** Maximum lifetime of a headset's token; seconds. */
  maxTokenLifetimeS: 300,
  /** Accepted clock skew of a headset; seconds. */
  clockToleranceS: 60,
  /** Maximum reconnect delay of a headset whose next welcome announces its activation; milliseconds. */
  activationRetryMs: 1000,
  /** Time after the end of a session until its stream is reset, if the headset has not read the end; milliseconds. */
  closeGraceMs: 2000,
} as const;

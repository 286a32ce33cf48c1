/** Settings of a platform without limits for its clients (load, random calls, races; ADR 0040). */
export const withoutLimits: Readonly<Record<string, string>> = {
  LIMIT_CALLS_PER_SECOND: '1000000',
  LIMIT_CALLS_BURST: '1000000',
  LIMIT_CALLS_UNDER_WAY: '100000',
  LIMIT_DEVICE_CHANGES_PER_SECOND: '100000',
  LIMIT_DEVICE_UNPROCESSED: '1000000',
  LIMIT_APPLICATION_UNPROCESSED: '10000000',
};

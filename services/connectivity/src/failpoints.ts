/** Where a test may stop the process (kit/failpoints.ts): nowhere, this service writes nothing. */
export const connectivityFailpoints: readonly string[] = [];

/** Where a test may stop the process (kit/failpoints.ts): a batch's notifications are in the log. */
export const connectivityFailpoints: readonly string[] = ['connectivity.published'];

/** Where a test may stop the process (kit/failpoints.ts). Each lies just after the thing it names. */
export const updatesFailpoints: readonly string[] = [
  'updates.claimed',
  'updates.opened',
  'updates.requested',
  'updates.uploaded',
  'updates.sealed',
  'updates.delivered',
];

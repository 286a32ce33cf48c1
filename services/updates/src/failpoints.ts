/** Where a test may stop the process (kit/failpoints.ts). Each fires just after the step that it names. */
export const updatesFailpoints: readonly string[] = [
  'updates.claimed',
  'updates.opened',
  'updates.requested',
  'updates.uploaded',
  'updates.checking',
  'updates.sealed',
  'updates.owned',
  'updates.delivered',
  'updates.named',
  'updates.takenBack',
];

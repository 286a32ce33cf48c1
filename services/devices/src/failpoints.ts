/** Where tests may stop this service (kit/failpoints.ts): after each write of a call over several documents. */
export const devicesFailpoints = [
  'devices.activated',
  'devices.deactivated',
  'devices.reset',
  'devices.undone',
  'devices.created',
  'devices.settled',
  'devices.lifecycle-published',
  'devices.reports-published',
] as const;

/** Where tests may stop this service (kit/failpoints.ts): after each write of a call over several documents. */
export const devicesFailpoints = [
  'devices.intended',
  'devices.reserved',
  'devices.activated',
  'devices.confirmed',
  'devices.deactivated',
  'devices.returning',
  'devices.given-back',
  'devices.reset',
  'devices.undone',
  'devices.released',
  'devices.created',
  'devices.settled',
  'devices.lifecycle-published',
  'devices.reports-published',
] as const;

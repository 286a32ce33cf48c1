/** Where tests may stop this service (kit/failpoints.ts): after each write of a call over several documents. */
export const devicesFailpoints = [
  'devices.intended',
  'devices.reserved',
  'devices.activated',
  'devices.deactivated',
  'devices.released',
  'devices.created',
  'devices.settled',
] as const;

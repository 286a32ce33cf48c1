/** Where a test may stop the process (kit/failpoints.ts). Each lies just after the thing it names. */
export const deviceLinkFailpoints = [
  'device-link.registered',
  'device-link.offered',
  'device-link.accepted',
  'device-link.published',
  'device-link.acked',
] as const;

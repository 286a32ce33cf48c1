/** Where a test may stop the process (kit/failpoints.ts). Each lies just after the thing it names. */
export const billingFailpoints: readonly string[] = [
  'billing.usageRecorded',
  'billing.usageOnSheet',
  'billing.lifecycleRecorded',
  'billing.auditStored',
];

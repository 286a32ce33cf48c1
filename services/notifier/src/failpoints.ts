/**
 * Where tests may stop this service (kit/failpoints.ts): stored, to be sent without a record, answered with 2xx,
 * outcome stored.
 */
export const notifierFailpoints = [
  'notifier.stored',
  'notifier.unrecorded',
  'notifier.sent',
  'notifier.marked',
] as const;

/**
 * Where tests may stop this service (kit/failpoints.ts): stored, to be sent without a record, answered with 2xx,
 * outcome stored, a part of a recovery sent again.
 */
export const notifierFailpoints = [
  'notifier.stored',
  'notifier.unrecorded',
  'notifier.sent',
  'notifier.marked',
  'notifier.recovered',
] as const;

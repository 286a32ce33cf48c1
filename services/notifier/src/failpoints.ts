/**
 * Where tests may stop this service (kit/failpoints.ts): stored, to be sent without a record, answered with 2xx,
 * outcome stored, a part of a recovery sent again; of notices: an outage stored or gone on with, a notice decided, stored
 * as a delivery, what it counts unmarked, all done.
 */
export const notifierFailpoints = [
  'notifier.stored',
  'notifier.unrecorded',
  'notifier.sent',
  'notifier.marked',
  'notifier.recovered',
  'notifier.outage',
  'notifier.owed',
  'notifier.noticed',
  'notifier.unmarked',
  'notifier.settled',
] as const;

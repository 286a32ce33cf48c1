/** Where tests may stop this service (kit/failpoints.ts): stored, answered with 2xx, outcome stored. */
export const notifierFailpoints = ['notifier.stored', 'notifier.sent', 'notifier.marked'] as const;

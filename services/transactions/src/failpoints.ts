/** Steps between two writes at which a fault test may stop the process. */
export const transactionsFailpoints = [
  'transactions.raised',
  'transactions.inserted',
  'transactions.accepted',
  'transactions.finished',
  'transactions.progressed',
  'transactions.changed',
  'transactions.published',
] as const;

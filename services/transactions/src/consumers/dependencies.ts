import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Outbox } from '../outbox.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';

/** Dependencies of the report consumers. */
export interface ReportDeps {
  readonly store: TransactionStore;
  readonly outbox: Outbox;
  readonly dispatcher: Pick<Dispatcher, 'reconcileAgain'>;
  readonly clock: Clock;
}

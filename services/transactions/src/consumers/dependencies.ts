import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Outbox } from '../outbox.ts';
import type { TransactionStore } from '../ports/transaction-store.ts';

/** Dependencies of the consumers of the kinds of reports. */
export interface ReportDeps {
  readonly store: TransactionStore;
  readonly outbox: Outbox;
  readonly delivery: Pick<Delivery, 'judgeAgain'>;
  readonly clock: Clock;
}

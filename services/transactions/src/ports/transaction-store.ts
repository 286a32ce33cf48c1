import type { DeviceCountersStore } from './device-counters.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { Queries } from './queries.ts';
import type { TransactionIds } from './transaction-ids.ts';
import type { Transitions } from './transitions.ts';

/** The service's database. */
export interface TransactionStore
  extends TransactionIds,
    DeviceCountersStore,
    Transitions,
    Queries,
    OutboxStore {}

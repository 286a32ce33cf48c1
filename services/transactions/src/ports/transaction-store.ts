import type { Heads } from './heads.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { Queries } from './queries.ts';
import type { TransactionIds } from './transaction-ids.ts';
import type { Transitions } from './transitions.ts';

/** Everything the service needs from its database. */
export interface TransactionStore extends TransactionIds, Heads, Transitions, Queries, OutboxStore {}

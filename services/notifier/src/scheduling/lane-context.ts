import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { TimeLimit } from '../domain/time-limit.ts';
import type { DeliveryStore, Destinations } from '../ports.ts';
import type { Attempted, Attempts } from './attempts.ts';
import type { FinishedOrders } from './finished-orders.ts';
import type { Gates } from './gates.ts';
import type { Marks } from './marks.ts';

/** What lanes share. */
export interface LaneContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly instanceId: string;
  readonly store: DeliveryStore;
  readonly destinations: Destinations;
  readonly attempts: Attempts;
  readonly marks: Marks;
  readonly finished: FinishedOrders;
  readonly gates: Gates;
  readonly limit: TimeLimit;
  readonly leaseMs: number;
  /** For how long at most a delivery waits here for first attempts of others (rule A20). */
  readonly orderWaitMs: number;
  readonly windowSize: number;
  readonly unsetRetryMs: number;
  readonly maxInMemory: number;
  /** How many more deliveries may be held in all. */
  room(): number;
  readonly stopping: () => boolean;
}

/** What came of one try at a delivery; those below `attempted` are no attempts. */
export type Verdict =
  | { kind: 'attempted'; attempted: Attempted }
  | { kind: 'blocked'; untilMs: number }
  | { kind: 'lost' | 'overtaken' | 'over' | 'unset' | 'unknown' | 'closed' | 'cut' };

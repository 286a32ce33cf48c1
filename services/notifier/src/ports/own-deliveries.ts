import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Delivery, DeliveryStatus, DestinationSetting } from '../domain/delivery.ts';

/** Position after which a list continues. */
export interface ListMark {
  /** Value of the field that the list is ordered by. */
  readonly atMs: number;
  readonly id: string;
}

/** Filter of an application's deliveries that indexes support. */
export interface OwnQuery {
  readonly applicationId: string;
  /**
   * Undefined: every state. The list is ordered by creation for undefined and for pending, otherwise by the time of the
   * end.
   */
  readonly status: DeliveryStatus | undefined;
  readonly destination: DestinationSetting | undefined;
  /** Range of creation times, both included; used only if the order is by creation. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

/** An application's deliveries, for its integrator. */
export interface OwnDeliveries {
  /** The newest deliveries after a mark: at least `count`, if that many exist. */
  newest(query: OwnQuery, after: ListMark | undefined, count: number): Promise<Delivery[]>;
  ofTransaction(applicationId: string, transactionId: number): Promise<Delivery[]>;
  /** Sets a dead or delivered delivery to pending, like `DeliveryStore.redeliver`; `by` is the id of the request. */
  sendAgain(id: string, by: string, nowMs: number, record: PendingAuditRecord): Promise<Delivery | undefined>;
  /** Id of the request that last sent it again. */
  sentAgainBy(id: string): Promise<string | undefined>;
}

import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Delivery, DeliveryStatus, DestinationSetting } from '../domain/delivery.ts';

/** Deliveries that are sent again together. */
export interface Recovery {
  readonly recoveryId: string;
  readonly applicationId: string;
  readonly total: number;
  /** Number of deliveries that were handled: index of the next one. */
  readonly next: number;
  readonly beganAtMs: number;
  /** 0 while it runs. */
  readonly endedAtMs: number;
}

export interface RecoveryStore {
  /** Deliveries in these states that were created at `sinceMs` or later, state by state and setting by setting. */
  ended(query: {
    readonly applicationId: string;
    readonly destination: DestinationSetting | undefined;
    readonly statuses: readonly DeliveryStatus[];
    readonly sinceMs: number;
  }): AsyncIterable<Delivery>;
  /** False if the id exists, or another recovery of the application runs. */
  begin(
    recovery: {
      readonly recoveryId: string;
      readonly applicationId: string;
      readonly ids: readonly string[];
      readonly delivered: boolean;
      readonly nowMs: number;
    },
    record: PendingAuditRecord,
  ): Promise<boolean>;
  get(recoveryId: string): Promise<Recovery | undefined>;
  runningOf(applicationId: string): Promise<Recovery | undefined>;
  /**
   * Claims a recovery that is due, until `untilMs`. No harm is done if a second instance continues it at the same time.
   */
  claim(
    nowMs: number,
    untilMs: number,
  ): Promise<(Recovery & { readonly ids: readonly string[]; readonly delivered: boolean }) | undefined>;
  /** Sends deliveries again that have ended in one of these states and that this recovery has not sent before. */
  sendAgain(
    recoveryId: string,
    ids: readonly string[],
    statuses: readonly DeliveryStatus[],
    nowMs: number,
  ): Promise<void>;
  progress(recoveryId: string, from: number, to: number, dueAtMs: number): Promise<void>;
  end(recovery: Pick<Recovery, 'recoveryId' | 'applicationId'>, nowMs: number): Promise<void>;
}

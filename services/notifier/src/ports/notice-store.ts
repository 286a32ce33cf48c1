import type { Dead, Notice, Outage } from '../domain/notice.ts';

/** Notices as deliveries, and the data for them (ADR 0055). */
export interface NoticeStore {
  /** Stores a notice as a delivery. False if it is stored already. */
  insert(notice: Notice): Promise<boolean>;
  /** Pending deliveries of a lane, counted up to a limit. */
  waiting(lane: string): Promise<number>;
  /** Each lane has at most one outage. */
  outages(): Promise<Outage[]>;
  /** Number of outages that began at `beforeMs` or earlier. */
  countOutages(beforeMs: number): Promise<number>;
  /** Returns the outage of a lane. Stores an outage that began at `atMs` if there is none. */
  failed(lane: string, atMs: number): Promise<Outage>;
  /** Removes this outage, but not a later outage of its lane. */
  end(outage: Outage): Promise<void>;
  /** Deliveries that became dead from `fromMs` on and before `toMs`, in the order of their end. */
  dead(fromMs: number, toMs: number): AsyncIterable<Dead>;
}

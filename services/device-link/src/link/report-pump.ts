import { limits } from '../domain/limits.ts';
import type { ReportEvent } from './report-event.ts';
import type { ReportRoom } from './report-room.ts';
import { retryWhile } from './retry.ts';

interface Queued {
  readonly said: ReportEvent;
  /** 0: not a report (the hello), nothing to acknowledge. */
  readonly reportId: number;
}

/** What the pump needs of its session. */
export interface PumpHost {
  /** Resolves when all is durable; after an error all is tried again. */
  publish(events: readonly ReportEvent[]): Promise<void>;
  /** Every report up to this id is durable. */
  acknowledge(reportId: number): void;
  /** True: read no more reports for now; false: continue. */
  setFull(full: boolean): void;
  alive(): boolean;
  failed(error: unknown, attempt: number): void;
  /** Shared by all sessions of the instance. */
  readonly room: ReportRoom;
}

/**
 * Carries one session's reports to the log, in order: one publish at a time, so that a failed one is
 * never overtaken, each with everything that has come meanwhile. A report is acknowledged only
 * when it is durable (rule B2). While the log is away nothing is acknowledged, the same batch is
 * tried again, and the stream is not read beyond a bounded queue, nor while the instance's room is full.
 */
export class ReportPump {
  readonly #host: PumpHost;
  readonly #queue: Queued[] = [];
  #bytes = 0;
  #running = false;
  #full = false;
  /** Highest report id that has come in this session. */
  #seen = 0;
  /** Highest report id that is durable. */
  #acked = 0;

  constructor(host: PumpHost) {
    this.#host = host;
  }

  /** Highest report id known to be durable; 0 when none was reported in this session. */
  get ackedReportId(): number {
    return this.#acked;
  }

  get busy(): boolean {
    return this.#running;
  }

  /** False: the report has come before in this session (or an earlier one in its order has). */
  isNew(reportId: number): boolean {
    return reportId > this.#seen;
  }

  /** Queues an event; its report id is above all before it. */
  push(said: ReportEvent, reportId: number): void {
    if (reportId > 0) this.#seen = reportId;
    this.#queue.push({ said, reportId });
    this.#bytes += said.event.value.length;
    this.#host.room.take(said.event.value.length);
    if (!this.#full && (this.#host.room.full || this.#overLimit(1))) {
      this.#full = true;
      this.#host.setFull(true);
    }
    if (!this.#running) void this.#run();
  }

  #overLimit(share: number): boolean {
    return (
      this.#queue.length > limits.maxQueuedReports * share ||
      this.#bytes > limits.maxQueuedReportBytes * share
    );
  }

  async #run(): Promise<void> {
    this.#running = true;
    // What comes in the same turn goes into the same publish.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0 && this.#host.alive()) {
      const batch = this.#queue.slice(0, limits.maxReportsPerPublish);
      const published = await retryWhile(
        () => this.#host.alive(),
        async () => {
          await this.#host.publish(batch.map((q) => q.said));
          return true;
        },
        (error, attempt) => this.#host.failed(error, attempt),
      );
      if (!published) break;
      this.#queue.splice(0, batch.length);
      this.#giveBack(batch);
      const last = batch.findLast((q) => q.reportId > 0)?.reportId ?? 0;
      if (last > 0) {
        this.#acked = last;
        this.#host.acknowledge(last);
      }
      // With nothing of its own in a full room it reads on: nothing else would ever tell it to.
      if (this.#full && (this.#queue.length === 0 || (!this.#host.room.full && !this.#overLimit(0.5)))) {
        this.#full = false;
        this.#host.setFull(false);
      }
    }
    this.#running = false;
    // What an ended session did not publish, the headset has kept and sends again.
    if (!this.#host.alive()) this.#giveBack(this.#queue.splice(0));
  }

  #giveBack(queued: readonly Queued[]): void {
    for (const { said } of queued) {
      this.#bytes -= said.event.value.length;
      this.#host.room.give(said.event.value.length);
    }
  }
}

import type { EventLog, OutgoingEvent } from '@headset-cloud/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { retryWhile } from '../calls/retry.ts';
import { limits } from '../domain/limits.ts';
import type { SessionMetrics } from './metrics.ts';
import { type ReportEvent, reportEvent, type SessionBegin } from './report-event.ts';
import type { ReportMemory } from './report-memory.ts';
import type { SessionContext } from './session-context.ts';

/** Dependencies that all sessions of an instance share. */
export interface ReportsDeps {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly metrics: SessionMetrics;
  readonly reportMemory: ReportMemory;
}

interface Queued {
  readonly report: ReportEvent;
  /** 0 for the hello, which is not acknowledged. */
  readonly reportId: number;
}

/**
 * Publishes one session's hello and reports to the log, in order, and acknowledges a report when the log has stored
 * it (rule B2). One publish runs at a time, with the reports that have arrived in the meantime; a failed publish is
 * repeated. The stream is not read while the session's queue or the instance's memory budget is full.
 */
export class Reports {
  readonly #session: SessionContext;
  readonly #deps: ReportsDeps;
  readonly #queue: Queued[] = [];
  #bytes = 0;
  #publishing = false;
  #full = false;
  /** Highest report id that has arrived in this session. */
  #highestId = 0;
  #ackedReportId = 0;
  /** Report id to acknowledge as soon as the headset reads again; 0: none. */
  #ackDue = 0;

  constructor(session: SessionContext, deps: ReportsDeps) {
    this.#session = session;
    this.#deps = deps;
  }

  /** True while reports are being published. */
  get busy(): boolean {
    return this.#publishing;
  }

  /** Highest report id of this session that the log has stored; 0 if none. */
  get ackedReportId(): number {
    return this.#ackedReportId;
  }

  /** Publishes the hello with the cloud's data at the start of the session. `nowMs`: time of arrival of the hello. */
  takeHello(hello: Hello, begin: SessionBegin, nowMs: number): void {
    const body = { case: 'hello', value: hello } as const;
    this.#push({ report: reportEvent(this.#session, nowMs, body, '', begin), reportId: 0 });
  }

  /**
   * Publishes a report, or acknowledges it again if the log has it. `traceparent`: trace context of the transaction
   * that the report is about; empty without a transaction or a trace.
   */
  take(report: Report, traceparent: string): void {
    const reportId = Number(report.reportId);
    if (reportId > this.#highestId) {
      this.#highestId = reportId;
      const body = { case: 'report', value: report } as const;
      const nowMs = this.#deps.clock.now();
      this.#push({ report: reportEvent(this.#session, nowMs, body, traceparent), reportId });
    } else if (reportId <= this.#ackedReportId) {
      this.#acknowledge(this.#ackedReportId);
    }
    // Otherwise the report is already in the queue, and is acknowledged when it is published.
  }

  /** Called when the headset reads again: sends the acknowledgement that is due. */
  drained(): void {
    if (this.#ackDue === 0) return;
    const due = this.#ackDue;
    this.#ackDue = 0;
    this.#acknowledge(due);
  }

  #push(queued: Queued): void {
    const { reportMemory } = this.#deps;
    const bytes = queued.report.event.value.length;
    this.#queue.push(queued);
    this.#bytes += bytes;
    reportMemory.reserve(bytes);
    if (reportMemory.full || this.#exceeds(1)) this.#setFull(true);
    if (!this.#publishing) void this.#publishAll();
  }

  /** True if the queue is longer or larger than this share of its limits. */
  #exceeds(share: number): boolean {
    return (
      this.#queue.length > limits.maxQueuedReports * share ||
      this.#bytes > limits.maxQueuedReportBytes * share
    );
  }

  #setFull(full: boolean): void {
    if (this.#full === full) return;
    this.#full = full;
    this.#session.flow.stall('log', full);
  }

  async #publishAll(): Promise<void> {
    const { isAlive, logFailure } = this.#session;
    const { reportMemory } = this.#deps;
    this.#publishing = true;
    // Reports that arrive in the same event loop iteration go into the same publish.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0 && isAlive()) {
      const batch = this.#queue.slice(0, limits.maxReportsPerPublish);
      const published = await retryWhile(
        isAlive,
        async () => {
          await this.#publish(batch.map(({ report }) => report));
          return true;
        },
        (error, attempt) => logFailure('reports could not be published', error, attempt),
      );
      if (!published) break;
      this.#queue.splice(0, batch.length);
      this.#release(batch);
      const last = batch.findLast(({ reportId }) => reportId > 0)?.reportId;
      if (last !== undefined) {
        this.#ackedReportId = last;
        this.#acknowledge(last);
      }
      // A session with an empty queue must continue to read, even if the budget is full: only its own publishes resume
      // it.
      if (this.#queue.length === 0 || (!reportMemory.full && !this.#exceeds(0.5))) this.#setFull(false);
    }
    this.#publishing = false;
    // The session has ended. The headset sends its unpublished reports again in the next session.
    if (!isAlive()) this.#release(this.#queue.splice(0));
  }

  async #publish(reports: readonly ReportEvent[]): Promise<void> {
    const { log, clock, metrics } = this.#deps;
    const begunMs = monotonicMs(clock);
    const byTopic = new Map<string, OutgoingEvent[]>();
    for (const { topics, event } of reports) {
      for (const topic of topics) {
        const events = byTopic.get(topic);
        if (events) events.push(event);
        else byTopic.set(topic, [event]);
      }
    }
    await Promise.all([...byTopic].map(([topic, events]) => log.publish(topic, events)));
    metrics.published((monotonicMs(clock) - begunMs) / 1000);
  }

  #release(queued: readonly Queued[]): void {
    for (const { report } of queued) {
      this.#bytes -= report.event.value.length;
      this.#deps.reportMemory.release(report.event.value.length);
    }
  }

  #acknowledge(reportId: number): void {
    const { isAlive, flow, send } = this.#session;
    if (!isAlive()) return;
    if (flow.blocked) {
      this.#ackDue = reportId;
      return;
    }
    send({ case: 'reportAck', value: { reportId: BigInt(reportId) } });
  }
}

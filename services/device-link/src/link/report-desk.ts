import type { EventLog, OutgoingEvent } from '@headset-cloud/eventlog/types.ts';
import type { Hello, Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { Conversation } from './conversation.ts';
import type { LinkMetrics } from './metrics.ts';
import { type ReportEvent, reportEvent, type SessionBegin } from './report-event.ts';
import { ReportPump } from './report-pump.ts';
import type { ReportRoom } from './report-room.ts';

/** What the report desks of an instance share. */
export interface ReportDeskDeps {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly metrics: LinkMetrics;
  readonly reportRoom: ReportRoom;
}

/** Takes what one headset says, brings it to the log, and acknowledges what is durable (rule B2). */
export class ReportDesk {
  readonly #session: Conversation;
  readonly #deps: ReportDeskDeps;
  readonly #pump: ReportPump;
  /** What is to be acknowledged when the headset takes messages again; 0: nothing. */
  #ackDue = 0;

  constructor(session: Conversation, deps: ReportDeskDeps) {
    this.#session = session;
    this.#deps = deps;
    this.#pump = new ReportPump({
      publish: (events) => this.#publish(events),
      acknowledge: (id) => this.#acknowledge(id),
      setFull: (full) => session.flow.stall('log', full),
      alive: session.isAlive,
      room: deps.reportRoom,
      failed: (error, attempt) => session.complain('reports could not be published', error, attempt),
    });
  }

  /** True while reports are on their way to the log. */
  get busy(): boolean {
    return this.#pump.busy;
  }

  /** Highest report id of this session that is durable; 0 if none. */
  get ackedReportId(): number {
    return this.#pump.ackedReportId;
  }

  /** The hello goes to the log as well, with what the cloud knew when the session began, at `nowMs`. */
  takeHello(hello: Hello, begin: SessionBegin, nowMs: number): void {
    const said = { case: 'hello', value: hello } as const;
    this.#pump.push(reportEvent(this.#session, nowMs, said, '', begin), 0);
  }

  /** `traceparent`: of the transaction that it is about; empty when there is none, or no trace. */
  take(report: Report, traceparent: string): void {
    const id = Number(report.reportId);
    if (this.#pump.isNew(id)) {
      const said = { case: 'report', value: report } as const;
      this.#pump.push(reportEvent(this.#session, this.#deps.clock.now(), said, traceparent), id);
    } else if (id <= this.#pump.ackedReportId) {
      this.#acknowledge(this.#pump.ackedReportId);
    }
    // Otherwise it is on its way to the log, and is acknowledged with what stands before it.
  }

  /** The headset takes messages again. */
  drained(): void {
    if (this.#ackDue === 0) return;
    const due = this.#ackDue;
    this.#ackDue = 0;
    this.#acknowledge(due);
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

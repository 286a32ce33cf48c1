import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Report, ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Journal } from './journal.ts';

export type ReportBody = NonNullable<MessageInitShape<typeof ReportSchema>['body']>;

/** What a report says of its time, where that is not now. */
export interface ReportDetails {
  readonly occurredAtMs?: number | undefined;
  readonly activationEpoch?: number | undefined;
}

/** Reports that are sent without being acknowledged, at most. */
const reportWindow = 256;

/**
 * The reports of one headset: numbered in order, kept in the journal until acknowledged, sent in
 * order and, in each new session, from the oldest that is not acknowledged.
 */
export class Outbox {
  readonly #journal: Journal;
  readonly #nowMs: () => number;
  readonly #send: (report: Report) => void;
  /** Report ids still to be sent in this session, in order. */
  #unsent: number[] = [];
  #inFlight = 0;
  #open = false;

  constructor(journal: Journal, nowMs: () => number, send: (report: Report) => void) {
    this.#journal = journal;
    this.#nowMs = nowMs;
    this.#send = send;
  }

  /** A report with the next id, or the `further`-th after it, of now unless `more` says else; not kept yet. */
  draft(body: ReportBody, further = 0, more: ReportDetails = {}): Report {
    return create(ReportSchema, {
      reportId: BigInt(this.#journal.lastReportId + 1 + further),
      occurredAtMs: BigInt(more.occurredAtMs ?? this.#nowMs()),
      activationEpoch: BigInt(more.activationEpoch ?? this.#journal.activationEpoch),
      body,
    });
  }

  /** Keeps a report and sends it as soon as may be. Answers its id. */
  add(body: ReportBody, more?: ReportDetails): number {
    const report = this.draft(body, 0, more);
    this.#journal.reported(report);
    this.queue([report]);
    return Number(report.reportId);
  }

  /** Sends reports that the journal keeps already, as soon as may be. */
  queue(reports: readonly Report[]): void {
    if (!this.#open) return;
    for (const report of reports) this.#unsent.push(Number(report.reportId));
    this.#flush();
  }

  /** A session has begun. */
  open(ackedReportId: number): void {
    this.#journal.acknowledged(ackedReportId);
    this.#unsent = [...this.#journal.reports.keys()];
    this.#inFlight = 0;
    this.#open = true;
    this.#flush();
  }

  /** The session is over: what is not acknowledged is sent in the next. */
  close(): void {
    this.#open = false;
  }

  acknowledged(reportId: number): void {
    const before = this.#journal.reports.size;
    this.#journal.acknowledged(reportId);
    this.#inFlight = Math.max(0, this.#inFlight - (before - this.#journal.reports.size));
    this.#flush();
  }

  #flush(): void {
    while (this.#open && this.#inFlight < reportWindow && this.#unsent.length > 0) {
      const report = this.#journal.reports.get(this.#unsent.shift() as number);
      if (!report) continue;
      this.#inFlight += 1;
      this.#send(report);
    }
  }
}

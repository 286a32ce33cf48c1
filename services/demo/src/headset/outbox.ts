import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Report, ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Journal } from './journal.ts';
import { withinLimits } from './limits.ts';

export type ReportBody = NonNullable<MessageInitShape<typeof ReportSchema>['body']>;

/** Overrides of a report's time and activation epoch, and whether it belongs to a snapshot. */
export interface ReportDetails {
  readonly occurredAtMs?: number | undefined;
  readonly activationEpoch?: number | undefined;
  readonly snapshot?: boolean;
}

interface OutboxParts {
  readonly journal: Journal;
  /** The corrected clock; milliseconds since 1970. */
  nowMs(): number;
  send(report: Report): void;
}

/** Maximum number of reports that are sent and not acknowledged. */
const reportWindow = 256;

/**
 * The reports of one headset (protocol page, "Reports"): numbered in order, stored in the journal until they are
 * acknowledged, and sent in order. Each session starts with the oldest report that is not acknowledged.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  /** Ids of reports to send in this session, in order. */
  #unsent: number[] = [];
  #inFlight = 0;
  #open = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /**
   * Builds a report with the next id plus `idOffset`, without storing it. Its time is now unless `more` sets another.
   * Texts are cut to their limits. Throws an Error if the report is still too large for a message.
   */
  draft(body: ReportBody, idOffset = 0, more: ReportDetails = {}): Report {
    const { journal, nowMs } = this.#parts;
    const report = create(ReportSchema, {
      reportId: BigInt(journal.lastReportId + 1 + idOffset),
      occurredAtMs: BigInt(more.occurredAtMs ?? nowMs()),
      // Not the epoch of an offer: the apps of the former application run until the offer takes effect (rule A7).
      activationEpoch: BigInt(more.activationEpoch ?? journal.takenEpoch),
      snapshot: more.snapshot ?? false,
      body,
    });
    return withinLimits(report);
  }

  /** Stores a report and sends it as soon as possible. Returns its id. */
  add(body: ReportBody, more?: ReportDetails): number {
    const report = this.draft(body, 0, more);
    this.#parts.journal.reported(report);
    this.queue([report]);
    return Number(report.reportId);
  }

  /** Sends stored reports as soon as possible. */
  queue(reports: readonly Report[]): void {
    if (!this.#open) return;
    for (const report of reports) this.#unsent.push(Number(report.reportId));
    this.#flush();
  }

  /** Call it when a session begins: removes reports up to `ackedReportId` and sends all others. */
  open(ackedReportId: number): void {
    const { journal } = this.#parts;
    this.#fixCounter(ackedReportId);
    journal.acknowledged(ackedReportId);
    this.#unsent = [...journal.reports.keys()];
    this.#inFlight = 0;
    this.#open = true;
    this.#flush();
  }

  /**
   * Corrects the counter at the first welcome of the process. If the state was lost or restored from an older copy,
   * the ids up to `ackedReportId`, and perhaps higher ones, are used already. Counting continues above them, and
   * reports since the start of the process get their final ids.
   */
  #fixCounter(ackedReportId: number): void {
    const { journal, nowMs } = this.#parts;
    const first = Math.max(ackedReportId + 1, nowMs());
    const from = journal.numberedUpTo;
    if (from !== undefined) {
      const isLost = from === 0 || ackedReportId > from;
      journal.finalizeReportIds(isLost ? Math.max(0, first - 1 - from) : 0);
    }
    if (ackedReportId > journal.lastReportId) journal.lastReportId = first - 1;
  }

  /** Call it when a session ends: reports without acknowledgement are sent in the next session. */
  close(): void {
    this.#open = false;
  }

  acknowledged(reportId: number): void {
    const { journal } = this.#parts;
    const before = journal.reports.size;
    journal.acknowledged(reportId);
    this.#inFlight = Math.max(0, this.#inFlight - (before - journal.reports.size));
    this.#flush();
  }

  #flush(): void {
    const { journal, send } = this.#parts;
    while (this.#open && this.#inFlight < reportWindow) {
      const id = this.#unsent.shift();
      if (id === undefined) return;
      const report = journal.reports.get(id);
      if (!report) continue;
      this.#inFlight += 1;
      send(report);
    }
  }
}

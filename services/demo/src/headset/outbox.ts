import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Report, ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Behaviour, breaks } from './behaviour.ts';
import type { Journal } from './journal.ts';
import { withinLimits } from './limits.ts';

export type ReportBody = NonNullable<MessageInitShape<typeof ReportSchema>['body']>;

/** A report's time, if that is not now, and its cause. */
export interface ReportDetails {
  readonly occurredAtMs?: number | undefined;
  readonly activationEpoch?: number | undefined;
  readonly snapshot?: boolean;
}

interface OutboxParts {
  readonly journal: Journal;
  readonly behaviour: Behaviour;
  nowMs(): number;
  send(report: Report): void;
}

/**
 * The epoch of what the headset reports: of the activation that it has taken, not of one that an offer only
 * announces, since until then the former application's apps run (rule A7).
 */
export function reportingEpoch(journal: Journal, behaviour: Behaviour): number {
  return breaks(behaviour, 'tells-offered-epoch') ? journal.activationEpoch : journal.takenEpoch;
}

/** Most reports that are sent and not acknowledged. */
const reportWindow = 256;

/**
 * The reports of one headset: numbered in order, kept in the journal until acknowledged, sent in
 * order and, in each new session, from the oldest that is not acknowledged.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  /** Report ids still to be sent in this session, in order. */
  #unsent: number[] = [];
  #inFlight = 0;
  #open = false;
  /** For the faults: the highest id sent so far, and the last acknowledged report. */
  #sentUpTo: number;
  #lastAcknowledged: Report | undefined;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    const { journal, behaviour } = parts;
    this.#sentUpTo = journal.lastReportId;
    if (breaks(behaviour, 'restarts-counter') && journal.reports.size === 0) journal.lastReportId = 0;
  }

  /**
   * A report with the next id, or the `further`-th after it, dated now unless `more` says otherwise; not
   * stored yet. Texts are cut. Throws an Error if it is still too large for a message.
   */
  draft(body: ReportBody, further = 0, more: ReportDetails = {}): Report {
    const { journal, behaviour, nowMs } = this.#parts;
    const report = create(ReportSchema, {
      reportId: BigInt(journal.lastReportId + 1 + further),
      occurredAtMs: BigInt(more.occurredAtMs ?? nowMs()),
      activationEpoch: BigInt(more.activationEpoch ?? reportingEpoch(journal, behaviour)),
      snapshot: more.snapshot ?? false,
      body,
    });
    return breaks(behaviour, 'stores-whole-texts') ? report : withinLimits(report);
  }

  /** Stores a report and sends it as soon as possible. Returns its id. */
  add(body: ReportBody, more?: ReportDetails): number {
    const report = this.draft(body, 0, more);
    this.#parts.journal.reported(report);
    this.queue([report]);
    return Number(report.reportId);
  }

  /** Sends reports that the journal already holds, as soon as possible. */
  queue(reports: readonly Report[]): void {
    if (!this.#open) return;
    for (const report of reports) this.#unsent.push(Number(report.reportId));
    this.#flush();
  }

  /** A session has begun. */
  open(ackedReportId: number): void {
    const { journal } = this.#parts;
    if (!breaks(this.#parts.behaviour, 'keeps-older-counter')) this.#mendCounter(ackedReportId);
    journal.acknowledged(ackedReportId);
    this.#unsent = this.#toSend();
    this.#inFlight = 0;
    this.#open = true;
    this.#flush();
  }

  /**
   * Repairs the counter: if an older copy of the state was restored, or all state was lost, ids up to the
   * cloud's, and perhaps higher ones, are used, so counting continues above them. Reports since the start
   * of the process get their final ids only now.
   */
  #mendCounter(ackedReportId: number): void {
    const { journal, nowMs, behaviour } = this.#parts;
    const first = Math.max(ackedReportId + 1, nowMs());
    const from = breaks(behaviour, 'numbers-at-once') ? undefined : journal.numberedUpTo;
    if (from !== undefined) {
      const isLost = ackedReportId > from || (from === 0 && behaviour.firstReportId === 0);
      journal.numbered(isLost ? Math.max(0, first - 1 - from) : 0);
    }
    if (ackedReportId > journal.lastReportId) journal.lastReportId = first - 1;
  }

  /** The session is over: reports without acknowledgement are sent in the next one. */
  close(): void {
    this.#open = false;
  }

  acknowledged(reportId: number): void {
    const { journal } = this.#parts;
    this.#lastAcknowledged = journal.reports.get(reportId) ?? this.#lastAcknowledged;
    const before = journal.reports.size;
    journal.acknowledged(reportId);
    this.#inFlight = Math.max(0, this.#inFlight - (before - journal.reports.size));
    this.#flush();
  }

  /** The reports that a session sends first: all stored ones, unless a fault says otherwise. */
  #toSend(): number[] {
    const { journal, behaviour, send } = this.#parts;
    const ids = [...journal.reports.keys()];
    if (breaks(behaviour, 'repeats-acknowledged') && this.#lastAcknowledged) send(this.#lastAcknowledged);
    if (breaks(behaviour, 'no-report-repeat')) return ids.filter((id) => id > this.#sentUpTo);
    if (!breaks(behaviour, 'new-report-ids-on-repeat')) return ids;
    for (const id of ids.filter((one) => one <= this.#sentUpTo)) {
      const report = journal.reports.get(id) as Report;
      journal.reports.delete(id);
      journal.reported({ ...report, reportId: BigInt(journal.lastReportId + 1) });
    }
    return [...journal.reports.keys()];
  }

  #flush(): void {
    const { journal, behaviour } = this.#parts;
    const window = breaks(behaviour, 'exceeds-window') ? Number.POSITIVE_INFINITY : reportWindow;
    while (this.#open && this.#inFlight < window && this.#unsent.length > 0) {
      const swapped = breaks(behaviour, 'reports-out-of-order') && this.#unsent.length > 1;
      const [id] = this.#unsent.splice(swapped ? 1 : 0, 1) as [number];
      const report = journal.reports.get(id);
      if (!report) continue;
      this.#inFlight += 1;
      this.#sentUpTo = Math.max(this.#sentUpTo, id);
      const activationEpoch = BigInt(reportingEpoch(journal, behaviour));
      this.#parts.send(breaks(behaviour, 'rewrites-epoch') ? { ...report, activationEpoch } : report);
    }
  }
}

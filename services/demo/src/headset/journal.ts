import { create } from '@bufbuild/protobuf';
import { type Offer, OfferSchema, type Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { decodeOffer, decodeReport, type Entry, encodeOffer, encodeReport } from './journal-entry.ts';
import type { LineFile } from './line-file.ts';
import {
  type Activation,
  type ActivationChange,
  type Held,
  type HeldState,
  noActivation,
  type Outcome,
  type PendingUpload,
} from './stored-types.ts';

/** Minimum number of remembered outcomes. */
const rememberedOutcomes = 10_000;
/** Older outcomes are also remembered if they are at most this much older than the newest; milliseconds. */
const rememberedMs = 30 * 86_400_000;
/** A longer journal is rewritten as one snapshot when it is opened; lines. */
const compactAboveLines = 1000;

/**
 * The state that survives restarts (protocol page, "What a headset keeps"). Each step is written before the headset
 * acts on it. The journal is separate from the effects, because a reset erases only the area of the effects (rule B7).
 */
export class Journal {
  readonly held = new Map<number, Held>();
  readonly outcomes = new Map<number, Outcome>();
  /** Reports that are not acknowledged, in order of id. */
  readonly reports = new Map<number, Report>();
  /** Uploads whose end is not reported yet, in the order of their requests. */
  readonly uploads = new Map<number, PendingUpload>();
  lastUploadId = 0;
  lastReportId = 0;
  /**
   * Reports above this id have provisional ids. They were created since the start of the process, and the first
   * welcome shows whether the counter is outdated. Undefined: all ids are final.
   */
  numberedUpTo: number | undefined;
  /** The newest known activation epoch, including offers that have not taken effect. */
  activationEpoch = 0;
  /** The taken epoch: the epoch of `activation`. Reports and uploads belong to it (rule A7). */
  takenEpoch = 0;
  activation: Activation = noActivation;
  readonly #file: LineFile;

  constructor(file: LineFile) {
    this.#file = file;
    const entries = this.#file.read() as Entry[];
    for (const entry of entries) this.#apply(entry);
    if (entries.length > compactAboveLines) this.#file.rewrite([this.#snapshot()]);
    this.#write({ k: 'boot' });
  }

  /** Stores an offer. A repeated offer of a held transaction only replaces its content. */
  offered(offer: Offer): void {
    this.#append(() => ({ k: 'offer', offer: encodeOffer(offer) }));
    this.#offer(offer);
  }

  started(id: number): void {
    this.#write({ k: 'start', id });
  }

  dropped(id: number): void {
    this.#write({ k: 'drop', id });
  }

  /**
   * Stores the end of a transaction in one step, with all its reports and the activation change that it caused.
   */
  finished(id: number, outcome: Outcome, reports: readonly Report[], change?: ActivationChange): void {
    this.#append(() => ({
      ...{ k: 'done' as const, id, outcome, reports: reports.map(encodeReport) },
      ...(change && { change }),
    }));
    this.#finish(id, outcome, reports, change);
  }

  /** Stores an activation change and its reports in one step. */
  activated(change: ActivationChange, reports: readonly Report[]): void {
    this.#append(() => ({ k: 'activation', change, reports: reports.map(encodeReport) }));
    this.#change(change, reports);
  }

  reported(report: Report): void {
    this.#append(() => ({ k: 'report', report: encodeReport(report) }));
    this.#storeReport(report);
  }

  uploadRequested(upload: PendingUpload): void {
    this.#write({ k: 'upload', upload });
  }

  /** Stores the end of an upload and its report in one step. */
  uploadEnded(id: number, report: Report): void {
    this.#append(() => ({ k: 'uploaded', id, report: encodeReport(report) }));
    this.uploads.delete(id);
    this.#storeReport(report);
  }

  acknowledged(id: number): void {
    const first = this.reports.keys().next().value;
    if (first !== undefined && first <= id) this.#write({ k: 'ack', id });
  }

  /** Adds `shift` to the provisional ids and makes them final. Call it at the first welcome of the process. */
  finalizeReportIds(shift: number): void {
    this.#write({ k: 'numbered', shift });
  }

  advanceEpoch(epoch: number): void {
    if (epoch > this.activationEpoch) this.#write({ k: 'epoch', epoch });
  }

  close(): void {
    this.#file.close();
  }

  #write(entry: Entry): void {
    this.#append(() => entry);
    this.#apply(entry);
  }

  #append(entry: () => Entry): void {
    if (this.#file.isDurable) this.#file.append(entry());
  }

  #apply(entry: Entry): void {
    switch (entry.k) {
      case 'offer':
        this.#offer(decodeOffer(entry.offer));
        break;
      case 'start': {
        const held = this.held.get(entry.id);
        if (held) held.state = 'started';
        break;
      }
      case 'drop':
        this.held.delete(entry.id);
        break;
      case 'done':
        this.#finish(entry.id, entry.outcome, entry.reports.map(decodeReport), entry.change);
        break;
      case 'activation':
        this.#change(entry.change, entry.reports.map(decodeReport));
        break;
      case 'report':
        this.#storeReport(decodeReport(entry.report));
        break;
      case 'ack':
        for (const id of this.reports.keys()) {
          if (id > entry.id) break;
          this.reports.delete(id);
        }
        for (const [id, held] of this.held) {
          if (held.state === 'finished' && held.resultReportId <= entry.id) this.held.delete(id);
        }
        break;
      case 'boot':
        this.numberedUpTo ??= this.lastReportId;
        break;
      case 'numbered':
        this.#shiftReportIds(entry.shift);
        break;
      case 'epoch':
        this.activationEpoch = entry.epoch;
        break;
      case 'upload':
        this.uploads.set(entry.upload.id, entry.upload);
        this.lastUploadId = entry.upload.id;
        break;
      case 'uploaded':
        this.uploads.delete(entry.id);
        this.#storeReport(decodeReport(entry.report));
        break;
      case 'snapshot':
        this.lastReportId = entry.lastReportId;
        this.numberedUpTo = entry.numberedUpTo;
        this.activationEpoch = entry.epoch;
        this.activation = entry.activation;
        // Absent in old journals. The minimum is safe: no application gets reports of another application.
        this.takenEpoch = entry.taken ?? entry.activation.sinceEpoch;
        for (const { offer: bytes, state, resultReportId } of entry.held) {
          this.#hold(decodeOffer(bytes), state, resultReportId);
        }
        for (const [id, outcome] of entry.outcomes) this.outcomes.set(id, outcome);
        for (const report of entry.reports) this.#storeReport(decodeReport(report));
        for (const upload of entry.uploads ?? []) this.uploads.set(upload.id, upload);
        this.lastUploadId = entry.lastUploadId ?? 0;
        break;
    }
  }

  #offer(offer: Offer): void {
    const held = this.held.get(Number(offer.transactionId));
    if (held) held.offer = offer;
    else this.#hold(offer, 'offered', 0);
  }

  #hold(offer: Offer, state: HeldState, resultReportId: number): void {
    this.held.set(Number(offer.transactionId), { offer, state, resultReportId });
  }

  #finish(id: number, outcome: Outcome, reports: readonly Report[], change?: ActivationChange): void {
    if (change) this.#change(change, []);
    for (const report of reports) this.#storeReport(report);
    const end = reports.find(({ body }) => body.case === 'result' || body.case === 'revoked');
    // An unknown transaction that is revoked is held until the cloud acknowledges the answer.
    if (outcome.revoked && !this.held.has(id)) {
      this.#hold(create(OfferSchema, { transactionId: BigInt(id) }), 'finished', 0);
    }
    const held = this.held.get(id);
    if (held) {
      held.state = 'finished';
      held.resultReportId = Number(end?.reportId ?? 0n);
    }
    const ended = end && {
      occurredAtMs: Number(end.occurredAtMs),
      activationEpoch: Number(end.activationEpoch),
    };
    this.#remember(id, { ...outcome, ...(ended && { ended }) });
    for (const report of reports) this.#markAnswered(report);
  }

  #shiftReportIds(shift: number): void {
    const from = this.numberedUpTo ?? this.lastReportId;
    this.numberedUpTo = undefined;
    if (shift === 0) return;
    const fresh = [...this.reports].filter(([id]) => id > from);
    for (const [id] of fresh) this.reports.delete(id);
    for (const [id, report] of fresh) {
      this.reports.set(id + shift, { ...report, reportId: BigInt(id + shift) });
    }
    for (const held of this.held.values()) if (held.resultReportId > from) held.resultReportId += shift;
    this.lastReportId += shift;
  }

  #markAnswered({ body }: Report): void {
    if (body.case !== 'appAnswer') return;
    const id = Number(body.value.transactionId);
    const outcome = this.outcomes.get(id);
    if (outcome) this.outcomes.set(id, { ...outcome, answered: true });
  }

  #change({ activation, epoch, endedUploads }: ActivationChange, reports: readonly Report[]): void {
    this.activation = activation;
    this.takenEpoch = Math.max(this.takenEpoch, epoch);
    this.activationEpoch = Math.max(this.activationEpoch, epoch);
    for (const id of endedUploads) this.uploads.delete(id);
    for (const report of reports) this.#storeReport(report);
  }

  #storeReport(report: Report): void {
    const id = Number(report.reportId);
    this.reports.set(id, report);
    this.lastReportId = Math.max(this.lastReportId, id);
    this.#markAnswered(report);
  }

  #remember(id: number, outcome: Outcome): void {
    this.outcomes.set(id, outcome);
    const before = (outcome.ended?.occurredAtMs ?? 0) - rememberedMs;
    for (const [oldest, { ended }] of this.outcomes) {
      if (this.outcomes.size <= rememberedOutcomes || (ended?.occurredAtMs ?? 0) >= before) break;
      this.outcomes.delete(oldest);
    }
  }

  #snapshot(): Entry {
    return {
      k: 'snapshot',
      lastReportId: this.lastReportId,
      ...(this.numberedUpTo !== undefined && { numberedUpTo: this.numberedUpTo }),
      epoch: this.activationEpoch,
      taken: this.takenEpoch,
      activation: this.activation,
      held: [...this.held.values()].map(({ offer, state, resultReportId }) => ({
        offer: encodeOffer(offer),
        state,
        resultReportId,
      })),
      outcomes: [...this.outcomes],
      reports: [...this.reports.values()].map(encodeReport),
      uploads: [...this.uploads.values()],
      lastUploadId: this.lastUploadId,
    };
  }
}

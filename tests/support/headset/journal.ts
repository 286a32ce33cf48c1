import { join } from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type Offer,
  OfferSchema,
  type Report,
  ReportSchema,
} from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import { type Durability, LineFile } from './memory.ts';

export type HeldState = 'offered' | 'started' | 'finished';

/** A transaction that the headset holds. */
export interface Held {
  readonly offer: Offer;
  state: HeldState;
  /** The report that carries its result, once finished. */
  resultReportId: number;
}

/** How a transaction ended; kept for deduplication. */
export interface Outcome {
  readonly success: boolean;
  readonly message: string;
}

/** One step, as it is written. Bytes are base64. */
type Entry =
  | { k: 'offer'; offer: string }
  | { k: 'start'; id: number }
  | { k: 'drop'; id: number }
  | { k: 'done'; id: number; outcome: Outcome; reports: string[] }
  | { k: 'report'; report: string }
  | { k: 'ack'; id: number }
  | { k: 'epoch'; epoch: number }
  | {
      k: 'snapshot';
      lastReportId: number;
      epoch: number;
      held: SnapshotHeld[];
      outcomes: [number, Outcome][];
      reports: string[];
    };

interface SnapshotHeld {
  offer: string;
  state: HeldState;
  resultReportId: number;
}

/** Outcomes that are remembered, newest last. */
const rememberedOutcomes = 10_000;
/** A journal longer than this is rewritten when it is opened; lines. */
const compactAboveLines = 1000;

/**
 * What a headset must remember over restarts (protocol page, "What a headset keeps"): each step is
 * written before it is acted upon. It lives apart from the effects, as the area that a reset wipes
 * is apart from it (ruling B7).
 */
export class Journal {
  readonly held = new Map<number, Held>();
  readonly outcomes = new Map<number, Outcome>();
  /** Reports that are not acknowledged, in order of id. */
  readonly reports = new Map<number, Report>();
  lastReportId = 0;
  activationEpoch = 0;
  readonly #file: LineFile;
  readonly #durable: boolean;

  constructor(directory: string, deviceId: string, durability: Durability) {
    this.#durable = durability !== 'none';
    this.#file = new LineFile(join(directory, `${deviceId}.journal.jsonl`), durability);
    const entries = this.#file.read() as Entry[];
    for (const entry of entries) this.#apply(entry);
    if (entries.length > compactAboveLines) this.#file.rewrite([this.#snapshot()]);
  }

  offered(offer: Offer): void {
    this.#append(() => ({ k: 'offer', offer: encode(toBinary(OfferSchema, offer)) }));
    this.#hold(offer, 'offered', 0);
  }

  started(id: number): void {
    this.#write({ k: 'start', id });
  }

  dropped(id: number): void {
    this.#write({ k: 'drop', id });
  }

  /** The end of a transaction and the reports that tell of it, in one step. The first is its result. */
  finished(id: number, outcome: Outcome, reports: readonly Report[]): void {
    this.#append(() => ({
      k: 'done',
      id,
      outcome,
      reports: reports.map((r) => encode(toBinary(ReportSchema, r))),
    }));
    this.#finish(id, outcome, reports);
  }

  reported(report: Report): void {
    this.#append(() => ({ k: 'report', report: encode(toBinary(ReportSchema, report)) }));
    this.#keep(report);
  }

  acknowledged(id: number): void {
    const first = this.reports.keys().next().value;
    if (first !== undefined && first <= id) this.#write({ k: 'ack', id });
  }

  learnEpoch(epoch: number): void {
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
    if (this.#durable) this.#file.append(entry());
  }

  #apply(entry: Entry): void {
    switch (entry.k) {
      case 'offer':
        this.#hold(fromBinary(OfferSchema, decode(entry.offer)), 'offered', 0);
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
        this.#finish(
          entry.id,
          entry.outcome,
          entry.reports.map((r) => fromBinary(ReportSchema, decode(r))),
        );
        break;
      case 'report':
        this.#keep(fromBinary(ReportSchema, decode(entry.report)));
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
      case 'epoch':
        this.activationEpoch = entry.epoch;
        break;
      case 'snapshot':
        this.lastReportId = entry.lastReportId;
        this.activationEpoch = entry.epoch;
        for (const { offer: bytes, state, resultReportId } of entry.held) {
          this.#hold(fromBinary(OfferSchema, decode(bytes)), state, resultReportId);
        }
        for (const [id, outcome] of entry.outcomes) this.outcomes.set(id, outcome);
        for (const report of entry.reports) this.#keep(fromBinary(ReportSchema, decode(report)));
        break;
    }
  }

  #hold(offer: Offer, state: HeldState, resultReportId: number): void {
    this.held.set(Number(offer.transactionId), { offer, state, resultReportId });
  }

  #finish(id: number, outcome: Outcome, reports: readonly Report[]): void {
    for (const report of reports) this.#keep(report);
    const held = this.held.get(id);
    if (held) {
      held.state = 'finished';
      held.resultReportId = Number(reports[0]?.reportId ?? 0n);
    }
    this.#remember(id, outcome);
  }

  #keep(report: Report): void {
    const id = Number(report.reportId);
    this.reports.set(id, report);
    this.lastReportId = Math.max(this.lastReportId, id);
  }

  #remember(id: number, outcome: Outcome): void {
    this.outcomes.set(id, outcome);
    if (this.outcomes.size <= rememberedOutcomes) return;
    for (const oldest of this.outcomes.keys()) {
      this.outcomes.delete(oldest);
      break;
    }
  }

  #snapshot(): Entry {
    return {
      k: 'snapshot',
      lastReportId: this.lastReportId,
      epoch: this.activationEpoch,
      held: [...this.held.values()].map(({ offer, state, resultReportId }) => ({
        offer: encode(toBinary(OfferSchema, offer)),
        state,
        resultReportId,
      })),
      outcomes: [...this.outcomes],
      reports: [...this.reports.values()].map((r) => encode(toBinary(ReportSchema, r))),
    };
  }
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function decode(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}

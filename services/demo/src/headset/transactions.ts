import { equals } from '@bufbuild/protobuf';
import { type Offer, OfferSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { changeByTransaction, reportsOf } from './activations.ts';
import type { Behaviour, DeathPoint } from './behaviour.ts';
import type { Device } from './device.ts';
import type { Effects } from './effects.ts';
import type { Installer } from './installer.ts';
import type { Journal } from './journal.ts';
import { beginsEndlessCall, operate, refusal } from './operations.ts';
import type { Outbox } from './outbox.ts';
import { endReport, resultReports } from './results.ts';
import type { Held, Outcome } from './stored-types.ts';

/** The parts of a headset that its transactions use. */
export interface TransactionParts {
  readonly behaviour: Behaviour;
  readonly journal: Journal;
  readonly effects: Effects;
  readonly device: Device;
  readonly outbox: Outbox;
  readonly installer: Installer;
  /** Aborted when the headset is closed. No more work is done then, as after a crash. */
  readonly closed: AbortSignal;
  sendReady(transactionId: number, sent: () => void): void;
  point(point: DeathPoint, transactionId: number): void;
  onEffect(transactionId: number, operation: string): void;
  /** Ends the session and reconnects after a reset. */
  restart(): void;
  /** Called when the activation may have changed, which may have ended uploads. */
  activationChanged(): void;
}

/** Started work: it waits in the queue, loads an update, or takes effect. */
interface StartedWork {
  /** True if the effect has begun. The work can no longer be canceled. */
  hasBegun: boolean;
  /** Stops a download. */
  readonly stop: AbortController;
}

/** The transactions of one headset, from offer to result (protocol page, "Transactions"). */
export class Transactions {
  readonly #parts: TransactionParts;
  /** Started work that has not ended and was not dropped or revoked. */
  readonly #started = new Map<number, StartedWork>();
  #working: Promise<void> = Promise.resolve();

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    // If the process died between an effect and its result, the recorded effect gives the result. Work without an
    // effect waits for another start, because it may have been canceled in the meantime.
    const { journal, effects, device } = parts;
    for (const [id, held] of journal.held) {
      const tookPlace = effects.has(id) || device.outcomeOf(id) !== undefined;
      if (held.state === 'started' && tookPlace) this.#finish(id, held);
    }
  }

  /** Call it when the activation may have changed: stops uploads and downloads of the former activation. */
  onActivation(): void {
    this.#parts.activationChanged();
    this.#stopOldLoads();
  }

  /** Stops downloads of an earlier activation epoch and deletes their bytes. They are never installed. */
  #stopOldLoads(): void {
    const { journal, installer } = this.#parts;
    for (const [id, held] of journal.held) {
      const isOld = Number(held.offer.activationEpoch) < journal.activationEpoch;
      if (!isOld || !isUpdate(held) || held.state === 'finished') continue;
      const work = this.#started.get(id);
      if (work?.hasBegun) continue;
      work?.stop.abort();
      installer.discard(id);
    }
  }

  onOffer(offer: Offer): void {
    const { journal, behaviour, point, sendReady } = this.#parts;
    const id = Number(offer.transactionId);
    point('received', id);
    const before = journal.activationEpoch;
    journal.advanceEpoch(Number(offer.activationEpoch));
    if (journal.activationEpoch > before) this.#stopOldLoads();
    const held = journal.held.get(id);
    const isKnown = held !== undefined || journal.outcomes.has(id);
    // A repeated offer may have another ticket; a finished transaction needs none.
    const isChanged = held && held.state !== 'finished' && !equals(OfferSchema, held.offer, offer);
    if (!isKnown || isChanged) journal.offered(offer);
    if (behaviour.answersOffers) sendReady(id, () => point('ready-sent', id));
  }

  onStart(id: number): void {
    const { journal } = this.#parts;
    const held = journal.held.get(id);
    const outcome = journal.outcomes.get(id);
    if (outcome) {
      // The transaction has ended before. If it is still held, its stored report is sent anyway. Otherwise the cloud
      // has acknowledged the report and asks again, so the end is reported with a new report id.
      if (!held) this.#repeatEnd(id, outcome);
      return;
    }
    if (!held || this.#started.has(id)) return;
    if (held.state === 'offered') journal.started(id);
    this.#enqueue(id, held);
  }

  onDrop(id: number): void {
    const { journal, installer } = this.#parts;
    const held = journal.held.get(id);
    // Work whose effect has begun cannot be stopped. A stored report is still sent.
    if (!held || held.state === 'finished' || this.#started.get(id)?.hasBegun) return;
    this.#cancel(id);
    if (isUpdate(held)) installer.discard(id);
    journal.dropped(id);
  }

  /**
   * Handles a revoke. Work that has not begun never begins. If the work has begun, its result is the answer (rule A11).
   */
  onRevoke(id: number, reason: string): void {
    const { journal, installer, outbox, point } = this.#parts;
    const held = journal.held.get(id);
    // The report of the end is queued, or follows when the effect is complete.
    if (held?.state === 'finished' || this.#started.get(id)?.hasBegun) return;
    const known = journal.outcomes.get(id);
    if (known) {
      this.#repeatEnd(id, known);
      return;
    }
    this.#cancel(id);
    // Delete the file before the answer is stored: if the process dies in between, the cloud asks again.
    if (held && isUpdate(held)) installer.discard(id);
    const outcome: Outcome = { success: false, message: reason, revoked: true };
    const report = outbox.draft(endReport(id, outcome));
    journal.finished(id, outcome, [report]);
    point('revoked', id);
    outbox.queue([report]);
  }

  /** Queues the work. Transactions run one after the other, in the order of their starts. */
  #enqueue(id: number, held: Held): void {
    const work: StartedWork = { hasBegun: false, stop: new AbortController() };
    this.#started.set(id, work);
    this.#working = this.#working.then(() => this.#perform(id, held, work));
  }

  #cancel(id: number): void {
    this.#started.get(id)?.stop.abort();
    this.#started.delete(id);
  }

  async #perform(id: number, held: Held, work: StartedWork): Promise<void> {
    const { behaviour, closed, installer, point } = this.#parts;
    const isCanceled = () => this.#started.get(id) !== work;
    if (isCanceled() || closed.aborted) return;
    point('started', id);
    let failure: string | undefined;
    try {
      failure = await this.#prepare(id, held, work);
    } catch (error) {
      // The headset was closed. The transaction stays started in the journal, and the loaded bytes stay.
      if (closed.aborted) return;
      if (!work.stop.signal.aborted) throw error;
      // Also delete bytes that were written while the download stopped.
      installer.discard(id);
    }
    if (isCanceled()) return;
    work.hasBegun = true;
    if (behaviour.answersStarts) this.#finish(id, held, failure);
    this.#started.delete(id);
  }

  /** Loads an update, or waits for the duration of the work. Returns why the work failed; undefined if it did not. */
  async #prepare(id: number, held: Held, work: StartedWork): Promise<string | undefined> {
    const { offer } = held;
    const { behaviour, installer, point } = this.#parts;
    const { kind } = offer.operation ?? { kind: { case: undefined } };
    if (kind.case === 'updateApp' || kind.case === 'updateFirmware') {
      const reason = refusal(offer, this.#parts);
      if (reason !== undefined) return reason;
      const begins = () => {
        work.hasBegun = true;
        point('installing', id);
      };
      const { artifact } = kind.value;
      const ticket = () => ticketOf(held) ?? new Uint8Array();
      return installer.prepare({ transactionId: id, artifact, ticket }, work.stop.signal, begins);
    }
    work.hasBegun = true;
    if (beginsEndlessCall(offer, this.#parts)) await untilAborted(this.#parts.closed);
    if (behaviour.effectMs > 0) await new Promise((resolve) => setTimeout(resolve, behaviour.effectMs));
    return undefined;
  }

  /** Performs the operation and stores the result. With `failure`, only stores that result. */
  #finish(id: number, held: Held, failure?: string): void {
    const { journal, device, outbox, installer, closed, restart } = this.#parts;
    if (journal.outcomes.has(id) || closed.aborted) return;
    const before = device.state;
    const { tookPlace, ...outcome } =
      failure === undefined
        ? operate(held.offer, this.#parts)
        : { success: false, message: failure, tookPlace: false };
    if (tookPlace) this.#parts.onEffect(id, held.offer.operationId);
    this.#parts.point('effect-done', id);
    if (isUpdate(held)) installer.discard(id);
    const isReset = held.offer.operation?.kind.case === 'reset' && tookPlace;
    // The result of a reset is reported in the next session.
    if (isReset) outbox.close();
    this.#keepResult(id, held, outcome, before);
    if (isReset) restart();
  }

  #keepResult(id: number, held: Held, outcome: Outcome, before: Device['state']): void {
    const { behaviour, journal, device, outbox } = this.#parts;
    const changed = outcome.success ? changeByTransaction(held.offer, journal, device.state) : undefined;
    // Reports that are stored together with an activation change belong to the new activation.
    const activationEpoch = changed && Math.max(changed.change.epoch, journal.takenEpoch);
    const reports = resultReports({
      ...{ id, held, outcome, behaviour, device, before, first: reportsOf(changed, outbox) },
      draft: (body, idOffset) => outbox.draft(body, idOffset, { activationEpoch }),
    });
    journal.finished(id, outcome, reports, changed?.change);
    if (changed) this.onActivation();
    outbox.queue(reports);
  }

  /** Reports a remembered end again with a new report id. */
  #repeatEnd(id: number, outcome: Outcome): void {
    this.#parts.outbox.add(endReport(id, outcome), outcome.ended);
  }
}

/** The ticket of an update, from the newest offer. */
function ticketOf({ offer }: Held): Uint8Array | undefined {
  const kind = offer.operation?.kind;
  return kind?.case === 'updateApp' || kind?.case === 'updateFirmware'
    ? kind.value.artifact?.ticket
    : undefined;
}

/** Rejects when the headset is closed. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function isUpdate({ offer }: Held): boolean {
  const kind = offer.operation?.kind.case;
  return kind === 'updateApp' || kind === 'updateFirmware';
}

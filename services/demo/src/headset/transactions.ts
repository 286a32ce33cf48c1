import { equals } from '@bufbuild/protobuf';
import { type Offer, OfferSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { changeByTransaction, reportsOf } from './activations.ts';
import type { Behaviour, DeathPoint } from './behaviour.ts';
import type { Device } from './device.ts';
import type { Effects } from './effects.ts';
import type { Installer } from './installer.ts';
import type { Journal } from './journal.ts';
import type { Held, Outcome } from './kept.ts';
import { beginsEndlessCall, operate, refusal } from './operations.ts';
import type { Outbox } from './outbox.ts';
import { endReport, resultReports } from './results.ts';

/** The parts of a headset that its transactions use. */
export interface TransactionParts {
  readonly behaviour: Behaviour;
  readonly journal: Journal;
  readonly effects: Effects;
  readonly device: Device;
  readonly outbox: Outbox;
  readonly installer: Installer;
  /** Aborted when the headset is closed: then no more work is done, as if it had died. */
  readonly closed: AbortSignal;
  sendReady(transactionId: number, sent: () => void): void;
  point(point: DeathPoint, transactionId: number): void;
  onEffect(transactionId: number, operation: string): void;
  /** Ends the session and comes back, as after a reset. */
  restart(): void;
  /** The activation may be another one, and uploads may have ended with it. */
  activationChanged(): void;
}

/** Work whose start has come to this process: it waits for its turn, loads, or has its effect. */
interface StartedWork {
  /** True once its effect has begun: it cannot be given up any more. */
  hasBegun: boolean;
  /** Ends a load. */
  readonly stop: AbortController;
}

/** The transactions of one headset, from offer to result (protocol page, "Transactions"). */
export class Transactions {
  readonly #parts: TransactionParts;
  /** Work that has not ended, and that no drop or revoke has ended. */
  readonly #started = new Map<number, StartedWork>();
  #working: Promise<void> = Promise.resolve();

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    // After a death between the effect and its result the effect is recorded, so the result is known. Work
    // without an effect waits for a new start, because it may have been canceled meanwhile.
    const { journal, effects, device } = parts;
    for (const [id, held] of journal.held) {
      const tookPlace = effects.has(id) || device.outcomeOf(id) !== undefined;
      if (held.state === 'started' && tookPlace) this.#finish(id, held);
    }
  }

  /** On a change of the activation: its uploads and downloads end. */
  onActivation(): void {
    this.#parts.activationChanged();
    this.#stopOldLoads();
  }

  /** Downloads of an earlier epoch than the newest end, and their bytes are deleted: nothing installs them. */
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
    journal.learnEpoch(Number(offer.activationEpoch));
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
      // It has ended before. A stored report is sent anyway; if the cloud has acknowledged the report but
      // asks again, the end is reported again under a new report id.
      if (!held) this.#repeatEnd(id, outcome);
      return;
    }
    if (!held || this.#started.has(id)) return;
    if (held.state === 'offered') journal.started(id);
    this.#take(id, held);
  }

  onDrop(id: number): void {
    const { journal, installer } = this.#parts;
    const held = journal.held.get(id);
    // Work whose effect has begun cannot be stopped, and a stored report is still sent.
    if (!held || held.state === 'finished' || this.#started.get(id)?.hasBegun) return;
    this.#giveUp(id);
    if (isUpdate(held)) installer.discard(id);
    journal.dropped(id);
  }

  /**
   * Handles a revoke: work that has not begun never begins; otherwise its result is the answer (rule A11).
   */
  onRevoke(id: number, reason: string): void {
    const { journal, installer, outbox, point } = this.#parts;
    const held = journal.held.get(id);
    // Its report is on its way, or its effect has begun: then its result is the answer.
    if (held?.state === 'finished' || this.#started.get(id)?.hasBegun) return;
    const known = journal.outcomes.get(id);
    if (known) {
      this.#repeatEnd(id, known);
      return;
    }
    this.#giveUp(id);
    // Deletes before the answer is written: after a death in between, the cloud asks again.
    if (held && isUpdate(held)) installer.discard(id);
    const outcome: Outcome = { success: false, message: reason, revoked: true };
    const report = outbox.draft(endReport(id, outcome));
    journal.finished(id, outcome, [report]);
    point('revoked', id);
    outbox.queue([report]);
  }

  /** Queues the work: transactions run one after the other, in the order of their starts. */
  #take(id: number, held: Held): void {
    const work: StartedWork = { hasBegun: false, stop: new AbortController() };
    this.#started.set(id, work);
    this.#working = this.#working.then(() => this.#perform(id, held, work));
  }

  #giveUp(id: number): void {
    this.#started.get(id)?.stop.abort();
    this.#started.delete(id);
  }

  async #perform(id: number, held: Held, work: StartedWork): Promise<void> {
    const { behaviour, closed, installer, point } = this.#parts;
    const isGivenUp = () => this.#started.get(id) !== work;
    if (isGivenUp() || closed.aborted) return;
    point('started', id);
    let failure: string | undefined;
    try {
      failure = await this.#prepare(id, held, work);
    } catch (error) {
      // The headset was closed: the journal has it as started, and an update's file keeps its progress.
      if (closed.aborted) return;
      if (!work.stop.signal.aborted) throw error;
      // Also deletes bytes that were being written when it was stopped.
      installer.discard(id);
    }
    if (isGivenUp()) return;
    work.hasBegun = true;
    if (behaviour.answersStarts) this.#finish(id, held, failure);
    this.#started.delete(id);
  }

  /** The part of the work that takes time. Returns why the work cannot be done. */
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

  /** Does the work, unless it is done already or `failure` is given, and stores the result. */
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
    // The end of a reset is reported in the next session; this session is over.
    if (isReset) outbox.close();
    this.#keepResult(id, held, outcome, before);
    if (isReset) restart();
  }

  #keepResult(id: number, held: Held, outcome: Outcome, before: Device['state']): void {
    const { behaviour, journal, device, outbox } = this.#parts;
    const changed = outcome.success ? changeByTransaction(held.offer, journal, device.state) : undefined;
    // Reports that are stored with a change of the activation belong to the new activation.
    const activationEpoch = changed && Math.max(changed.change.epoch, journal.takenEpoch);
    const reports = resultReports({
      ...{ id, held, outcome, behaviour, device, before, first: reportsOf(changed, outbox) },
      draft: (body, further) => outbox.draft(body, further, { activationEpoch }),
    });
    journal.finished(id, outcome, reports, changed?.change);
    if (changed) this.onActivation();
    outbox.queue(reports);
  }

  /** Reports a remembered end again: the same report with a new report id. */
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

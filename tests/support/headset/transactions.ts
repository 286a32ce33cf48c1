import type { Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { answer, type Behaviour, type DeathPoint } from './behaviour.ts';
import type { Device } from './device.ts';
import type { Effects } from './effects.ts';
import type { Installer } from './installer.ts';
import type { Held, Journal, Outcome } from './journal.ts';
import type { Outbox, ReportBody } from './outbox.ts';
import { resultReport, resultReports } from './results.ts';
import { refusal, work } from './work.ts';

/** What transactions need of their headset. */
export interface TransactionParts {
  readonly behaviour: Behaviour;
  readonly journal: Journal;
  readonly effects: Effects;
  readonly device: Device;
  readonly outbox: Outbox;
  readonly installer: Installer;
  /** Says when the headset is closed: then nothing more is done, as if it had died. */
  readonly closed: AbortSignal;
  sendReady(transactionId: number, sent: () => void): void;
  point(point: DeathPoint, transactionId: number): void;
  onEffect(transactionId: number, operation: string): void;
  /** Ends the session and comes back, as after a reset. */
  restart(): void;
}

/** The transactions of one headset, from offer to result (protocol page, "Transactions"). */
export class Transactions {
  readonly #parts: TransactionParts;
  readonly #inHand = new Set<number>();
  #working: Promise<void> = Promise.resolve();

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    // A death between the effect and its result: the effect is there, so the result is known. Work
    // whose effect did not take place waits for a new start: it may have been canceled meanwhile.
    for (const [id, held] of parts.journal.held) {
      const done = parts.effects.has(id) || parts.device.outcomeOf(id) !== undefined;
      if (held.state === 'started' && done) this.#finish(id, held);
    }
  }

  onOffer(offer: Offer): void {
    const { journal, behaviour, point, sendReady } = this.#parts;
    const id = Number(offer.transactionId);
    point('received', id);
    journal.learnEpoch(Number(offer.activationEpoch));
    if (!journal.held.has(id) && !journal.outcomes.has(id)) journal.offered(offer);
    answer(behaviour.ready, behaviour, (asked) => sendReady(asked ?? id, () => point('ready-sent', id)));
  }

  onStart(id: number): void {
    const { journal } = this.#parts;
    const held = journal.held.get(id);
    const outcome = journal.outcomes.get(id);
    if (outcome) {
      // It has taken effect before. A result that is still kept is sent anyway; one that the cloud
      // has acknowledged, but asks for again, is told once more under a new report id.
      if (!held) this.#reportResult(id, outcome);
      return;
    }
    if (!held || this.#inHand.has(id)) return;
    if (held.state === 'offered') journal.started(id);
    this.#inHand.add(id);
    // One after the other, in the order in which the starts came.
    this.#working = this.#working.then(() => this.#perform(id, held));
  }

  onDrop(id: number): void {
    const { journal, installer } = this.#parts;
    const held = journal.held.get(id);
    // Work in hand cannot be called back, and a result that is kept is still reported.
    if (!held || held.state === 'finished' || this.#inHand.has(id)) return;
    journal.dropped(id);
    if (isUpdate(held)) installer.discard(id);
  }

  async #perform(id: number, held: Held): Promise<void> {
    const { behaviour, closed, point } = this.#parts;
    point('started', id);
    let failure: string | undefined;
    try {
      failure = await this.#prepare(id, held);
    } catch (error) {
      // Closed meanwhile: the journal says that it is started, and the file how far an update is.
      if (closed.aborted) return;
      throw error;
    }
    answer(behaviour.result, behaviour, (asked) => {
      if (asked === undefined) this.#finish(id, held, failure);
      else this.#reportResult(asked, { success: true, message: 'called' });
    });
    this.#inHand.delete(id);
  }

  /** What takes time. Answers why the work cannot be done. */
  async #prepare(id: number, { offer }: Held): Promise<string | undefined> {
    const { behaviour, journal, installer } = this.#parts;
    const { kind } = offer.operation ?? { kind: { case: undefined } };
    if (kind.case === 'updateApp' || kind.case === 'updateFirmware') {
      const reason = refusal(offer, journal.activationEpoch, behaviour);
      return reason ?? (await installer.prepare(id, kind.value.artifact));
    }
    if (behaviour.effectMs > 0) await new Promise((resolve) => setTimeout(resolve, behaviour.effectMs));
    return undefined;
  }

  /** Does the work, unless it is done or `failure` says why it cannot be, and keeps its result. */
  #finish(id: number, held: Held, failure?: string): void {
    const { behaviour, journal, device, effects, installer, closed } = this.#parts;
    if (journal.outcomes.has(id) || closed.aborted) return;
    const before = device.state;
    const { tookPlace, ...outcome } =
      failure === undefined
        ? work(held.offer, journal.activationEpoch, behaviour, device, effects)
        : { success: false, message: failure, tookPlace: false };
    if (tookPlace) this.#parts.onEffect(id, held.offer.operationId);
    this.#parts.point('effect-done', id);
    if (isUpdate(held)) installer.discard(id);
    const isReset = held.offer.operation?.kind.case === 'reset' && tookPlace;
    if (isReset && behaviour.loseResetResult) {
      journal.dropped(id);
    } else {
      // What a reset ends is told by the next session: this one is over.
      if (isReset) this.#parts.outbox.close();
      this.#keepResult(id, held, outcome, before);
    }
    if (isReset) this.#parts.restart();
  }

  #keepResult(id: number, held: Held, outcome: Outcome, before: Device['state']): void {
    const { behaviour, journal, device, outbox } = this.#parts;
    const { now, later } = resultReports({
      ...{ id, held, outcome, behaviour, device, before },
      draft: (body, further) => outbox.draft(body, further),
    });
    journal.finished(id, outcome, now);
    outbox.queue(now);
    if (later) setTimeout(() => this.#report(later), behaviour.appAnswerDelayMs).unref();
    if (behaviour.result === 'twice') this.#reportResult(id, outcome);
  }

  #reportResult(id: number, outcome: Outcome): void {
    this.#report(resultReport(id, outcome, this.#parts.behaviour));
  }

  #report(body: ReportBody): void {
    if (!this.#parts.closed.aborted) this.#parts.outbox.add(body);
  }
}

function isUpdate({ offer }: Held): boolean {
  const kind = offer.operation?.kind.case;
  return kind === 'updateApp' || kind === 'updateFirmware';
}

import { equals } from '@bufbuild/protobuf';
import { type Offer, OfferSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { changeByTransaction, reportsOf } from './activations.ts';
import { answer, type Behaviour, breaks, type DeathPoint } from './behaviour.ts';
import type { Device } from './device.ts';
import type { Effects } from './effects.ts';
import type { Installer } from './installer.ts';
import type { Journal } from './journal.ts';
import type { Held, Outcome } from './kept.ts';
import type { Outbox, ReportBody, ReportDetails } from './outbox.ts';
import { endReport, resultReports } from './results.ts';
import { beginsEndlessCall, refusal, work } from './work.ts';

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

/** Started work of this process: waiting for its turn, loading, or having its effect. */
interface InHand {
  /** True once its effect has begun: it cannot be given up any more. */
  begun: boolean;
  /** True if it was dropped or revoked: no more work, and no report. */
  gone: boolean;
  /** Ends a load. */
  readonly stop: AbortController;
}

/** The transactions of one headset, from offer to result (protocol page, "Transactions"). */
export class Transactions {
  readonly #parts: TransactionParts;
  readonly #inHand = new Map<number, InHand>();
  #working: Promise<void> = Promise.resolve();
  /** For the faults: transactions that this session offered, and those that were dropped or revoked. */
  readonly #offered = new Set<number>();
  /** For the faults: the revision that the welcome told. */
  #revision = 0;
  readonly #newestLast: (() => Promise<void>)[] = [];
  readonly #gone = new Map<number, Held>();

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    // After a death between the effect and its result the effect is recorded, so the result is known. Work
    // without an effect waits for a new start, because it may have been canceled meanwhile.
    for (const [id, held] of parts.journal.held) {
      if (breaks(parts.behaviour, 'repeats-interrupted') && held.state !== 'offered') {
        parts.journal.outcomes.delete(id);
        parts.effects.forget(id);
        held.state = 'started';
        continue;
      }
      if (held.state !== 'started') continue;
      if (breaks(parts.behaviour, 'trusts-version') && isInstalled(held, parts.device)) {
        const outcome = { success: true, message: 'installed' };
        parts.journal.finished(id, outcome, [parts.outbox.draft(endReport(id, outcome, parts.behaviour))]);
        continue;
      }
      if (parts.effects.has(id) || parts.device.outcomeOf(id) !== undefined) this.#finish(id, held);
      else if (breaks(parts.behaviour, 'resumes-by-itself')) this.#take(id, held);
    }
  }

  /** A session has begun; `revision` is the one in its welcome. */
  onSession(revision: number): void {
    this.#offered.clear();
    this.#revision = revision;
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
      const hand = this.#inHand.get(id);
      if (hand?.begun) continue;
      hand?.stop.abort();
      installer.discard(id);
    }
  }

  onOffer(offer: Offer): void {
    const { journal, effects, behaviour, point, sendReady } = this.#parts;
    const id = Number(offer.transactionId);
    point('received', id);
    const before = journal.activationEpoch;
    journal.learnEpoch(Number(offer.activationEpoch));
    const isNewer = journal.activationEpoch > before;
    if (isNewer && !breaks(behaviour, 'finishes-old-load')) this.#stopOldLoads();
    if (breaks(behaviour, 'forgets-ids') && !journal.held.has(id)) {
      journal.outcomes.delete(id);
      effects.forget(id);
    }
    const held = journal.held.get(id);
    const isKnown = held !== undefined || journal.outcomes.has(id);
    // A repeated offer may have another ticket; a finished transaction needs none.
    const isNews = held && held.state !== 'finished' && !equals(OfferSchema, held.offer, offer);
    if (!isKnown || isNews) journal.offered(offer);
    this.#offered.add(id);
    if (breaks(behaviour, 'starts-without-start')) this.onStart(id);
    if (isKnown && breaks(behaviour, 'no-ready-on-repeat')) return;
    answer(behaviour.ready, behaviour, (asked) => sendReady(asked ?? id, () => point('ready-sent', id)));
  }

  onStart(id: number): void {
    const { journal, behaviour } = this.#parts;
    if (this.#misstarts(id)) return;
    const held = journal.held.get(id);
    const outcome = journal.outcomes.get(id);
    if (outcome) {
      // It has ended before. A stored report is sent anyway; if the cloud has acknowledged the report but
      // asks again, the end is reported again under a new report id.
      if (!held && !breaks(behaviour, 'silent-when-done')) this.#repeatEnd(id, outcome);
      return;
    }
    if (!held && breaks(behaviour, 'answers-unknown-start')) {
      this.#report(endReport(id, { success: false, message: 'unknown' }, behaviour));
    }
    if (!held || this.#inHand.has(id)) return;
    if (held.state === 'offered') journal.started(id);
    this.#take(id, held);
  }

  onDrop(id: number): void {
    const { journal, installer, behaviour } = this.#parts;
    const held = journal.held.get(id);
    if (held?.state === 'finished' && breaks(behaviour, 'drops-finished')) journal.dropped(id);
    // Work whose effect has begun cannot be stopped, and a stored report is still sent.
    if (!held || held.state === 'finished' || this.#inHand.get(id)?.begun) return;
    if (breaks(behaviour, 'ignores-drop')) return;
    this.#giveUp(id);
    this.#gone.set(id, held);
    if (isUpdate(held)) installer.discard(id);
    journal.dropped(id);
  }

  /**
   * Handles a revoke: work that has not begun never begins; otherwise its result is the answer (rule A11).
   */
  onRevoke(id: number, reason: string): void {
    const { journal, installer, behaviour, outbox, point } = this.#parts;
    if (!behaviour.knowsRevoke || breaks(behaviour, 'ignores-revoke')) return;
    const held = journal.held.get(id);
    if (held?.state === 'finished') {
      const outcome: Outcome = { success: false, message: reason, revoked: true };
      if (breaks(behaviour, 'revokes-finished')) this.#report(endReport(id, outcome, behaviour));
      return;
    }
    const known = journal.outcomes.get(id);
    if (known) {
      if (!breaks(behaviour, 'silent-when-done')) this.#repeatEnd(id, known);
      return;
    }
    if (this.#inHand.get(id)?.begun) return;
    if (!held && breaks(behaviour, 'silent-on-unknown-revoke')) return;
    const acts = breaks(behaviour, 'acts-after-revoke');
    if (!acts) this.#giveUp(id);
    // Deletes before the answer is written: after a death in between, the cloud asks again.
    if (held && isUpdate(held) && !acts) installer.discard(id);
    const outcome: Outcome = { success: false, message: reason, revoked: true };
    const report = outbox.draft(endReport(id, outcome, behaviour));
    if (held) this.#gone.set(id, { ...held });
    journal.finished(id, outcome, [report]);
    point('revoked', id);
    outbox.queue([report]);
    if (acts && held && !this.#inHand.has(id)) this.#take(id, held);
  }

  /** For the faults: whether a start is handled in a way that the page forbids. */
  #misstarts(id: number): boolean {
    const { journal, effects, behaviour } = this.#parts;
    const held = journal.held.get(id);
    const gone = this.#gone.get(id);
    if (held?.state === 'started' && !this.#inHand.has(id) && breaks(behaviour, 'start-needs-offer')) {
      return !this.#offered.has(id);
    }
    const again = breaks(behaviour, 'start-repeats-work') && held && held.state !== 'offered';
    const revived =
      gone && breaks(behaviour, journal.outcomes.get(id)?.revoked ? 'starts-revoked' : 'starts-dropped');
    if (!again && !(revived && (!held || held.state === 'finished'))) return false;
    journal.outcomes.delete(id);
    effects.forget(id);
    this.#take(id, again ? held : (gone as Held));
    return true;
  }

  /** Queues the work: transactions run one after the other, in the order of their starts. */
  #take(id: number, held: Held): void {
    const hand: InHand = { begun: false, gone: false, stop: new AbortController() };
    this.#inHand.set(id, hand);
    const run = () => this.#perform(id, held, hand);
    if (breaks(this.#parts.behaviour, 'newest-first')) {
      this.#newestLast.push(run);
      setTimeout(() => void this.#newestLast.pop()?.(), 300);
      return;
    }
    const waits = isUpdate(held) || held.offer.operation?.kind.case === 'command';
    if (!waits && breaks(this.#parts.behaviour, 'overtakes-commands')) {
      void run();
      return;
    }
    const done = breaks(this.#parts.behaviour, 'works-in-parallel') ? run() : this.#working.then(run);
    this.#working = done;
  }

  #giveUp(id: number): void {
    const hand = this.#inHand.get(id);
    if (!hand) return;
    hand.gone = true;
    hand.stop.abort();
    this.#inHand.delete(id);
  }

  async #perform(id: number, held: Held, hand: InHand): Promise<void> {
    const { behaviour, closed, installer, point } = this.#parts;
    if (hand.gone || closed.aborted) return;
    point('started', id);
    let failure: string | undefined;
    try {
      failure = await this.#prepare(id, held, hand);
    } catch (error) {
      // The headset was closed: the journal has it as started, and an update's file keeps its progress.
      if (closed.aborted) return;
      if (!hand.stop.signal.aborted) throw error;
      // Also deletes bytes that were being written when it was stopped.
      installer.discard(id);
    }
    if (hand.gone) return;
    hand.begun = true;
    answer(behaviour.result, behaviour, (asked) => {
      if (asked === undefined) this.#finish(id, held, failure);
      else this.#report(endReport(asked, { success: true, message: 'called' }, behaviour));
    });
    if (this.#inHand.get(id) === hand) this.#inHand.delete(id);
  }

  /** The part of the work that takes time. Returns why the work cannot be done. */
  async #prepare(id: number, held: Held, hand: InHand): Promise<string | undefined> {
    const { offer } = held;
    const { behaviour, installer, point } = this.#parts;
    const { kind } = offer.operation ?? { kind: { case: undefined } };
    if (kind.case === 'updateApp' || kind.case === 'updateFirmware') {
      const reason = refusal(offer, this.#parts);
      if (reason !== undefined && !breaks(behaviour, 'loads-older-firmware')) return reason;
      const begins = () => {
        hand.begun = true;
        point('installing', id);
      };
      const first = ticketOf(held);
      const keepsFirst = breaks(behaviour, 'keeps-first-ticket');
      const ticket = () => (keepsFirst ? first : ticketOf(held)) ?? new Uint8Array();
      return installer.prepare(
        { transactionId: id, artifact: kind.value.artifact, ticket },
        hand.stop.signal,
        begins,
      );
    }
    hand.begun = true;
    if (beginsEndlessCall(offer, this.#parts)) await untilAborted(this.#parts.closed);
    if (behaviour.effectMs > 0) await new Promise((resolve) => setTimeout(resolve, behaviour.effectMs));
    return undefined;
  }

  /** Does the work, unless it is done already or `failure` is given, and stores the result. */
  #finish(id: number, held: Held, failure?: string): void {
    const { behaviour, journal, device, installer, closed } = this.#parts;
    const mayAct = journal.outcomes.get(id)?.revoked && breaks(behaviour, 'acts-after-revoke');
    if ((journal.outcomes.has(id) && !mayAct) || closed.aborted) return;
    const before = device.state;
    const { tookPlace, ...outcome } =
      failure === undefined
        ? (this.#doneByWelcome(id, held) ?? work(held.offer, this.#parts))
        : { success: false, message: failure, tookPlace: false };
    if (tookPlace) this.#parts.onEffect(id, held.offer.operationId);
    this.#parts.point('effect-done', id);
    if (isUpdate(held)) installer.discard(id);
    const isReset = held.offer.operation?.kind.case === 'reset' && tookPlace;
    if (isReset && behaviour.loseResetResult) {
      journal.dropped(id);
    } else {
      // The end of a reset is reported in the next session; this session is over.
      if (isReset && !breaks(behaviour, 'tells-reset-at-once')) this.#parts.outbox.close();
      this.#keepResult(id, held, outcome, before);
    }
    if (isReset && breaks(behaviour, 'tells-reset-at-once')) setTimeout(this.#parts.restart, 300);
    else if (isReset) this.#parts.restart();
    if (isUpdate(held) && breaks(behaviour, 'progress-after-result')) {
      this.#report({ case: 'progress', value: { transactionId: BigInt(id), progress: 1 } });
    }
  }

  /** For the faults: a reset that is not done, because a welcome told it. */
  #doneByWelcome(id: number, { offer }: Held): ReturnType<typeof work> | undefined {
    const isTold = id === this.#revision && offer.operation?.kind.case === 'reset';
    if (!isTold || !breaks(this.#parts.behaviour, 'takes-reset-as-done')) return undefined;
    return { success: true, message: 'reset', tookPlace: false };
  }

  #keepResult(id: number, held: Held, outcome: Outcome, before: Device['state']): void {
    const { behaviour, journal, device, outbox } = this.#parts;
    const changed = outcome.success
      ? changeByTransaction(held.offer, journal, device.state, behaviour)
      : undefined;
    // What is stored with a change of the activation belongs to the new one.
    const activationEpoch = changed && Math.max(changed.change.epoch, journal.takenEpoch);
    const { now, later } = resultReports({
      ...{ id, held, outcome, behaviour, device, before, first: reportsOf(changed, outbox) },
      draft: (body, further) => outbox.draft(body, further, { activationEpoch }),
    });
    journal.finished(id, outcome, now, changed?.change);
    if (changed) this.onActivation();
    outbox.queue(now);
    if (later) setTimeout(() => this.#report(later), behaviour.appAnswerDelayMs).unref();
    if (behaviour.result === 'twice') this.#report(endReport(id, outcome, behaviour));
  }

  /** Reports a remembered end again: the same report with a new report id. */
  #repeatEnd(id: number, outcome: Outcome): void {
    const { behaviour } = this.#parts;
    const ended = breaks(behaviour, 'dates-again') ? undefined : outcome.ended;
    this.#report(endReport(id, outcome, behaviour), ended);
  }

  #report(body: ReportBody, details?: ReportDetails): void {
    if (!this.#parts.closed.aborted) this.#parts.outbox.add(body, details);
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

/** For the faults: the version that an update of an app names is there, whoever installed it. */
function isInstalled({ offer }: Held, { state }: Device): boolean {
  const kind = offer.operation?.kind;
  if (kind?.case !== 'updateApp') return false;
  const { package: name, version } = kind.value;
  return state.apps.some((one) => one.package === name && one.version === version);
}

function isUpdate({ offer }: Held): boolean {
  const kind = offer.operation?.kind.case;
  return kind === 'updateApp' || kind === 'updateFirmware';
}

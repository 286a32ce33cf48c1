import type { Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';

/** What is remembered of an offer until its start. */
interface Untold {
  readonly epoch: bigint;
  /** It changes the activation itself: its start tells the headset. */
  readonly changes: boolean;
}

/**
 * Which activation the headset of a session has been told of: by its welcome, or by the start of an
 * `activate`, `deactivate` or `reset`. An offer alone tells nothing, for it may be canceled: then the
 * headset still has what the former application stored, and work of a newer activation must not start
 * on it (rule A7).
 */
export class ToldActivation {
  /** Undefined: the welcome carried no activation. */
  readonly #welcomed: bigint | undefined;
  #told: bigint;
  /** By transaction id; made with the first, for few sessions ever have one. */
  #untold: Map<number, Untold> | undefined;

  /** `welcomed`: the epoch that the welcome carried; undefined: it carried no activation. */
  constructor(welcomed: bigint | undefined) {
    this.#welcomed = welcomed;
    this.#told = welcomed ?? 0n;
  }

  /** An offer was sent. */
  offered({ transactionId, activationEpoch: epoch, operation }: Offer): void {
    if (this.#welcomed !== undefined && epoch <= this.#told) return;
    const kind = operation?.kind.case;
    const changes = kind !== undefined && operationOf(kind).changesActivation;
    this.#untold ??= new Map();
    this.#untold.set(Number(transactionId), { epoch, changes });
  }

  /** It is over without a start. */
  dropped(id: number): void {
    this.#untold?.delete(id);
  }

  /**
   * Whether its start may be sent now; that of a change tells the headset its activation. What this session
   * did not offer was offered before its welcome: it may start if that carried an activation.
   */
  start(id: number): boolean {
    const offer = this.#untold?.get(id);
    if (!offer) return this.#welcomed !== undefined;
    if (!offer.changes && offer.epoch > this.#told) return false;
    this.#untold?.delete(id);
    if (offer.changes && offer.epoch > this.#told) this.#told = offer.epoch;
    return true;
  }
}

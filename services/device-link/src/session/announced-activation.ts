import type { Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';

/** An offer that was sent and not started. When it was sent, its activation was not announced. */
interface Unannounced {
  readonly epoch: bigint;
  /** True if the operation changes the activation, so that its start announces the new activation. */
  readonly changes: boolean;
}

/**
 * The activation that the session has announced to the headset: by its welcome, or by the start of an `activate`,
 * `deactivate` or `reset`. An offer of these operations announces nothing, because it may be canceled. Before the
 * headset knows its new activation, it still has the data of the previous application, so that no operation of the new
 * activation may start (rule A7).
 */
export class AnnouncedActivation {
  /** Undefined: the welcome contained no activation. */
  readonly #welcomed: bigint | undefined;
  #epoch: bigint;
  /** By transaction id; created with the first entry, because few sessions have one. */
  #unannounced: Map<number, Unannounced> | undefined;

  /** `welcomed`: the epoch in the welcome; undefined: the welcome contained no activation. */
  constructor(welcomed: bigint | undefined) {
    this.#welcomed = welcomed;
    this.#epoch = welcomed ?? 0n;
  }

  /** Records that an offer was sent. */
  offered({ transactionId, activationEpoch: epoch, operation }: Offer): void {
    if (this.#welcomed !== undefined && epoch <= this.#epoch) return;
    const kind = operation?.kind.case;
    const changes = kind !== undefined && operationOf(kind).changesActivation;
    this.#unannounced ??= new Map();
    this.#unannounced.set(Number(transactionId), { epoch, changes });
  }

  /** Records that the transaction ended without a start. */
  dropped(id: number): void {
    this.#unannounced?.delete(id);
  }

  /**
   * Returns whether the transaction's start may be sent now. The start of an operation that changes the activation
   * announces the new activation. A transaction that this session did not offer is older than the welcome: it may start
   * if the welcome contained an activation.
   */
  start(id: number): boolean {
    const offer = this.#unannounced?.get(id);
    if (!offer) return this.#welcomed !== undefined;
    if (!offer.changes && offer.epoch > this.#epoch) return false;
    this.#unannounced?.delete(id);
    if (offer.changes && offer.epoch > this.#epoch) this.#epoch = offer.epoch;
    return true;
  }
}

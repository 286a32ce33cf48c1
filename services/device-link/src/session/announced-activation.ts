import type { Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';

/** An offer that was sent and not started, and whose activation was not announced when it was sent. */
interface Unannounced {
  readonly epoch: bigint;
  /** The operation changes the activation, so its start announces the activation. */
  readonly changes: boolean;
}

/**
 * The activation that the session has announced to the headset: by its welcome, or by the start of an `activate`,
 * `deactivate` or `reset`. An offer announces nothing, because it may be canceled. Then the headset still stores the
 * previous application's data, and work of a newer activation must not start (rule A7).
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

  /** An offer was sent. */
  offered({ transactionId, activationEpoch: epoch, operation }: Offer): void {
    if (this.#welcomed !== undefined && epoch <= this.#epoch) return;
    const kind = operation?.kind.case;
    const changes = kind !== undefined && operationOf(kind).changesActivation;
    this.#unannounced ??= new Map();
    this.#unannounced.set(Number(transactionId), { epoch, changes });
  }

  /** The transaction ended without a start. */
  dropped(id: number): void {
    this.#unannounced?.delete(id);
  }

  /**
   * Returns whether the transaction's start may be sent now. The start of a change announces its activation. A
   * transaction that this session did not offer was offered before the welcome: it may start if the welcome
   * contained an activation.
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

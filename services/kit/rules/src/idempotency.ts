import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError, errorCatalogue, isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { Filter, IndexDescription } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { type SealedLocation, sealedFields } from './sealed/locations.ts';

/**
 * Caller of an operation, with its Idempotency-Key and the key's scope, if any (rule A19). Matches the proto `Caller`.
 */
export interface IdempotentCaller {
  readonly clientId: string;
  readonly idempotency?: {
    readonly key: string;
    readonly method: string;
    readonly path: string;
    /** SHA-256 of the request body's bytes. */
    readonly bodySha256: Uint8Array;
  };
}

/** Data that can be stored as JSON and read back unchanged, including bigints and absent fields. */
export type Storable =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | readonly Storable[]
  | { readonly [key: string]: Storable };

/** One call: the values that must be equal in a repeat, and the work, which is idempotent by these values. */
export interface IdempotentCall<D extends Storable, A extends Storable> {
  /** Generates ids and secrets for `work`. Must have no effect itself. */
  draw(): Promise<D>;
  /**
   * Does the work. It runs again with the same `drawn` if the outcome of an earlier run is unknown, because the run has
   * not ended or its process died. Two runs must take effect once and return the same answer. A DomainError with a
   * status below 500 means that this run has no effect. `conflict` means that no run with `drawn` can take effect; the
   * key is then released at once, so that the caller can repeat the call.
   */
  work(drawn: D): Promise<A>;
}

export interface Idempotency {
  /**
   * Without a key: runs `draw` and `work`. With a key: a repeat with the same body gets the stored answer. If there is
   * no stored answer, the repeat runs `work` with the values that the first run generated. Throws
   * `idempotency_key_reused` for another body, and every error of `work`.
   */
  run<D extends Storable, A extends Storable>(
    caller: IdempotentCaller | undefined,
    call: IdempotentCall<D, A>,
  ): Promise<A>;
}

/** A key in use. `drawn` and `answer` are encrypted, because they may contain secrets. */
export interface IdempotencyDocument {
  /** SHA-256 of client, method, path and key. */
  _id: string;
  bodyHash: string;
  /** Sealed, base64. */
  drawn: string;
  /** Id of the reservation. Absent: written by release 0.1.0; `drawn` identifies it, because its nonce is unique. */
  reservation?: string;
  /**
   * Number of runs with an unknown outcome. The reservation is deleted when the last of them has failed permanently.
   */
  runs: number;
  /** Sealed, base64; absent until a run succeeded. */
  answer?: string;
  expiresAt: Date;
}

/**
 * For the service that owns the collection. The index deletes expired documents late, so reads check the expiry, too.
 */
export const idempotencyIndexes: IndexDescription[] = [
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

const keepForMs = 24 * 60 * 60 * 1000;
const purpose = (id: string) => `idempotency ${id}`;

/** The location of the collection's sealed values. They expire after 24 hours, re-encrypted or not. */
export function sealedAnswers(collection: StoreCollection<IdempotencyDocument>): SealedLocation {
  return sealedFields(collection, {
    name: 'kept answers',
    projection: { drawn: 1, answer: 1 },
    fields: ({ _id, drawn, answer }) => [
      { path: 'drawn', text: drawn, purpose: purpose(_id) },
      ...(answer === undefined ? [] : [{ path: 'answer', text: answer, purpose: purpose(_id) }]),
    ],
  });
}

type Reservation = Pick<IdempotencyDocument, '_id' | 'drawn' | 'reservation'>;

/** Filter for the document of this reservation; `drawn` changes when it is re-encrypted. */
function sameReservation({ _id, drawn, reservation }: Reservation): Filter<IdempotencyDocument> {
  return reservation === undefined ? { _id, drawn } : { _id, reservation };
}

/** Answers each Idempotency-Key once, despite crashes and concurrent callers (rules A19, B8). */
export function createIdempotency(options: {
  collection: StoreCollection<IdempotencyDocument>;
  secrets: SecretBox;
  clock: Clock;
}): Idempotency {
  const { collection, secrets, clock } = options;
  const seal = (id: string, value: Storable) =>
    Buffer.from(secrets.seal(encode(value), purpose(id))).toString('base64');
  const open = (id: string, sealed: string) =>
    decode(secrets.open(Buffer.from(sealed, 'base64'), purpose(id)));

  /** Returns the key's unexpired document. If it has no answer yet, adds this run to `runs`. */
  async function join(id: string): Promise<IdempotencyDocument | undefined> {
    const found = await collection.findOne({ _id: id });
    if (!found) return undefined;
    if (found.expiresAt.getTime() <= clock.now()) {
      await collection.deleteOne(sameReservation(found));
      return undefined;
    }
    if (found.answer !== undefined) return found;
    const joined = await collection.findOneAndUpdate(
      sameReservation(found),
      { $inc: { runs: 1 } },
      { returnDocument: 'after' },
    );
    return joined ?? join(id);
  }

  async function reserve(id: string, bodyHash: string, draw: () => Promise<Storable>) {
    for (;;) {
      const found = await join(id);
      if (found) return found;
      const document: IdempotencyDocument = {
        _id: id,
        bodyHash,
        drawn: seal(id, await draw()),
        reservation: randomUUID(),
        runs: 1,
        expiresAt: new Date(clock.now() + keepForMs),
      };
      try {
        await collection.insertOne(document);
        return document;
      } catch (error) {
        // Another caller with the same key has stored its values first; the next iteration reads them.
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }

  /** Stores that this run has failed permanently and cannot take effect later. */
  async function withdraw(reservation: Reservation): Promise<void> {
    const unanswered = { ...sameReservation(reservation), answer: { $exists: false } };
    await collection.updateOne(unanswered, { $inc: { runs: -1 } });
    await collection.deleteOne({ ...unanswered, runs: { $lte: 0 } });
  }

  /** Stores the answer. Returns the first stored answer, which another run may have stored. */
  async function store(reservation: Reservation, answer: Storable): Promise<Storable> {
    const { _id: id } = reservation;
    const kept = await collection.updateOne(
      { ...sameReservation(reservation), answer: { $exists: false } },
      { $set: { answer: seal(id, answer) } },
    );
    if (kept.matchedCount === 1) return answer;
    const first = await collection.findOne(sameReservation(reservation));
    return first?.answer === undefined ? answer : open(id, first.answer);
  }

  return {
    async run<D extends Storable, A extends Storable>(
      caller: IdempotentCaller | undefined,
      call: IdempotentCall<D, A>,
    ): Promise<A> {
      const key = caller?.idempotency;
      if (!caller || !key) return call.work(await call.draw());
      const id = sha256(JSON.stringify([caller.clientId, key.method, key.path, key.key]));
      const bodyHash = Buffer.from(key.bodySha256).toString('hex');
      const document = await reserve(id, bodyHash, call.draw);
      const { drawn, answer } = document;
      if (document.bodyHash !== bodyHash) {
        if (answer === undefined) await withdraw(document);
        throw new DomainError(
          'idempotency_key_reused',
          'The Idempotency-Key was used with another request body.',
        );
      }
      if (answer !== undefined) return open(id, answer) as A;
      let result: A;
      try {
        result = await call.work(open(id, drawn) as D);
      } catch (error) {
        if (isConflict(error)) {
          await collection.deleteOne({ ...sameReservation(document), answer: { $exists: false } });
        } else if (isFinal(error)) await withdraw(document);
        throw error;
      }
      return (await store(document, result)) as A;
    },
  };
}

/** True if the work certainly has no effect, now or later. After any other error, it may have an effect. */
function isFinal(error: unknown): boolean {
  return error instanceof DomainError && errorCatalogue[error.code].http < 500;
}

function isConflict(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'conflict';
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const bigintTag = '$bigint';

function encode(value: Storable): string {
  return JSON.stringify({ value }, (_, v) => (typeof v === 'bigint' ? { [bigintTag]: String(v) } : v));
}

function decode(text: string): Storable {
  const revive = (_: string, v: unknown) =>
    typeof v === 'object' && v !== null && bigintTag in v ? BigInt(String(v[bigintTag])) : v;
  return (JSON.parse(text, revive) as { value?: Storable }).value;
}

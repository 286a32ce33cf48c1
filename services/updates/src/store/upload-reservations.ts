import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { UploadReservations } from '../ports/upload-reservations.ts';
import type { ReservationsDocument, UploadDocument } from './documents.ts';

/**
 * Maximum time from a reservation to the storing of its upload; milliseconds. The upload is stored at once unless the
 * process ends.
 */
const reservationMs = 60_000;

type Reservation = ReservationsDocument['places'][number];

export function createUploadReservations(
  reservations: StoreCollection<ReservationsDocument>,
  uploads: StoreCollection<UploadDocument>,
): UploadReservations {
  /** The reservations whose upload is not stored yet. */
  async function withoutUpload(reserved: readonly Reservation[]): Promise<Reservation[]> {
    if (reserved.length === 0) return [];
    const ids = reserved.map(({ uploadId }) => uploadId);
    const stored = await uploads.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
    const known = new Set(stored.map(({ _id }) => _id));
    return reserved.filter(({ uploadId }) => !known.has(uploadId));
  }

  /** End times of everything that counts: open uploads, and reservations of uploads that are about to be stored. */
  async function endTimesMs(
    of: { artifactId: string } | { developerId: string; settled: false },
    except: string,
    nowMs: number,
    reserved: readonly Reservation[],
  ): Promise<number[]> {
    const open = await uploads
      .find({ ...of, _id: { $ne: except }, expiresAtMs: { $gt: nowMs } }, { projection: { expiresAtMs: 1 } })
      .toArray();
    const endById = new Map(reserved.map(({ uploadId, untilMs }) => [uploadId, untilMs]));
    for (const { _id, expiresAtMs } of open) endById.set(_id, expiresAtMs);
    return [...endById.values()];
  }

  const queues = new Map<string, Promise<unknown>>();
  /** Serialises the calls of this instance for one document. Concurrent calls would only make each other retry. */
  async function serialise<R>(_id: string, work: () => Promise<R>): Promise<R> {
    const queued = (queues.get(_id) ?? Promise.resolve()).then(work, work);
    queues.set(_id, queued);
    try {
      return await queued;
    } finally {
      if (queues.get(_id) === queued) queues.delete(_id);
    }
  }

  /**
   * One conditional write. The revision changes with every reservation, so the write fails if another call has reserved
   * in the meantime. Every upload is stored after its reservation, and uploads are read after the reservations. So no
   * upload is missing in the count.
   */
  async function reserve(
    _id: string,
    { uploadId, artifactId, developerId }: Parameters<UploadReservations['reserve']>[0],
    limits: Parameters<UploadReservations['reserve']>[1],
    nowMs: number,
  ): ReturnType<UploadReservations['reserve']> {
    for (;;) {
      const existing = await reservations.findOne({ _id });
      const others = await withoutUpload(
        (existing?.places ?? []).filter(
          (reservation) => reservation.untilMs > nowMs && reservation.uploadId !== uploadId,
        ),
      );
      const ofVersion = others.filter((reservation) => reservation.artifactId === artifactId);
      const versionEndsMs = await endTimesMs({ artifactId }, uploadId, nowMs, ofVersion);
      if (versionEndsMs.length >= limits.ofVersion)
        return { full: 'version', firstEndMs: Math.min(...versionEndsMs) };
      if (developerId) {
        const developerEndsMs = await endTimesMs({ developerId, settled: false }, uploadId, nowMs, others);
        if (developerEndsMs.length >= limits.ofDeveloper)
          return { full: 'developer', firstEndMs: Math.min(...developerEndsMs) };
      }
      const next = [...others, { uploadId, artifactId, untilMs: nowMs + reservationMs }];
      if (await write(_id, existing?.revision, next)) return undefined;
    }
  }

  /** Returns false if another call has changed the document in the meantime. */
  async function write(_id: string, revision: number | undefined, next: Reservation[]): Promise<boolean> {
    if (revision !== undefined) {
      const change = { $set: { places: next }, $inc: { revision: 1 } };
      return (await reservations.updateOne({ _id, revision }, change)).matchedCount === 1;
    }
    try {
      await reservations.insertOne({ _id, revision: 1, places: next });
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  }

  return {
    reserve(upload, limits, nowMs) {
      const _id = upload.developerId ? `developer/${upload.developerId}` : 'firmware';
      return serialise(_id, () => reserve(_id, upload, limits, nowMs));
    },
  };
}

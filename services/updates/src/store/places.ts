import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { UploadPlaces } from '../ports/upload-places.ts';
import type { PlacesDocument, UploadDocument } from './documents.ts';

/** How long a place is reserved before its upload is stored. The upload is stored at once unless the process ends. */
const placeMs = 60_000;

type Place = PlacesDocument['places'][number];

export function createUploadPlaces(
  places: StoreCollection<PlacesDocument>,
  uploads: StoreCollection<UploadDocument>,
): UploadPlaces {
  /** Places whose upload is not stored yet. */
  async function waiting(reserved: readonly Place[]): Promise<Place[]> {
    if (reserved.length === 0) return [];
    const ids = reserved.map(({ uploadId }) => uploadId);
    const stored = await uploads.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
    const known = new Set(stored.map(({ _id }) => _id));
    return reserved.filter(({ uploadId }) => !known.has(uploadId));
  }

  /** End times of all taken places: of open uploads, and of uploads that are about to be stored. */
  async function endsMs(
    of: { artifactId: string } | { developerId: string; settled: false },
    except: string,
    nowMs: number,
    reserved: readonly Place[],
  ): Promise<number[]> {
    const open = await uploads
      .find({ ...of, _id: { $ne: except }, expiresAtMs: { $gt: nowMs } }, { projection: { expiresAtMs: 1 } })
      .toArray();
    const ends = new Map(reserved.map(({ uploadId, untilMs }) => [uploadId, untilMs]));
    for (const { _id, expiresAtMs } of open) ends.set(_id, expiresAtMs);
    return [...ends.values()];
  }

  const turns = new Map<string, Promise<unknown>>();
  /** Serialises calls for a document within this instance. Concurrent calls would only make each other retry. */
  async function inTurn<R>(_id: string, work: () => Promise<R>): Promise<R> {
    const turn = (turns.get(_id) ?? Promise.resolve()).then(work, work);
    turns.set(_id, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(_id) === turn) turns.delete(_id);
    }
  }

  /**
   * One conditional write: the revision changes with every place. Every upload is stored after its place was reserved,
   * and uploads are read after the places. So the count is still valid at the write.
   */
  async function take(
    _id: string,
    { uploadId, artifactId, developerId }: Parameters<UploadPlaces['take']>[0],
    most: Parameters<UploadPlaces['take']>[1],
    nowMs: number,
  ): ReturnType<UploadPlaces['take']> {
    for (;;) {
      const there = await places.findOne({ _id });
      const others = await waiting(
        (there?.places ?? []).filter((place) => place.untilMs > nowMs && place.uploadId !== uploadId),
      );
      const ofVersion = others.filter((place) => place.artifactId === artifactId);
      const inVersion = await endsMs({ artifactId }, uploadId, nowMs, ofVersion);
      if (inVersion.length >= most.ofVersion) return { full: 'version', firstEndMs: Math.min(...inVersion) };
      if (developerId) {
        const all = await endsMs({ developerId, settled: false }, uploadId, nowMs, others);
        if (all.length >= most.ofDeveloper) return { full: 'developer', firstEndMs: Math.min(...all) };
      }
      const next = [...others, { uploadId, artifactId, untilMs: nowMs + placeMs }];
      if (await write(_id, there?.revision, next)) return undefined;
    }
  }

  /** False if another call was first. */
  async function write(_id: string, revision: number | undefined, next: Place[]): Promise<boolean> {
    if (revision !== undefined) {
      const change = { $set: { places: next }, $inc: { revision: 1 } };
      return (await places.updateOne({ _id, revision }, change)).matchedCount === 1;
    }
    try {
      await places.insertOne({ _id, revision: 1, places: next });
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  }

  return {
    take(upload, most, nowMs) {
      const _id = upload.developerId ? `developer/${upload.developerId}` : 'firmware';
      return inTurn(_id, () => take(_id, upload, most, nowMs));
    },
  };
}

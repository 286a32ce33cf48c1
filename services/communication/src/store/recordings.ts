import { type SealedLocation, sealedFields } from '@headset-cloud/rules/sealed/locations.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import { isComplete } from '../domain/recording.ts';
import type { SignedUrls } from '../domain/signed-urls.ts';
import type { Claim, Recording, RecordingStore } from '../ports/recording-store.ts';
import type { RecordingDocument } from './documents.ts';

const purpose = (recordingId: string) => `signed urls ${recordingId}`;
/** Sealed URLs may be large, so they are read only when needed. */
const withoutUrls = { urls: 0 } as const;

/** The signed URLs of recordings that are not uploaded yet. */
export function sealedUrls(recordings: StoreCollection<RecordingDocument>): SealedLocation {
  return sealedFields(recordings, {
    name: 'signed URLs of recordings',
    projection: { urls: 1 },
    fields: ({ _id, urls: text }) =>
      text === undefined ? [] : [{ path: 'urls', text, purpose: purpose(_id) }],
  });
}

export function createRecordingStore(
  recordings: StoreCollection<RecordingDocument>,
  secrets: SecretBox,
  keepMs: number,
): RecordingStore {
  const claimed = ({ recordingId, claim }: Claim): Filter<RecordingDocument> => ({ _id: recordingId, claim });

  async function update(claim: Claim, change: Update<RecordingDocument>): Promise<boolean> {
    return (await recordings.updateOne(claimed(claim), change)).matchedCount === 1;
  }

  /** Makes a recording due now if it is complete and not claimed. */
  async function makeDueIfComplete(found: WithId<RecordingDocument> | null, nowMs: number): Promise<void> {
    if (found?.state !== 'waiting' || !isComplete(found)) return;
    const { _id } = found;
    await recordings.updateOne(
      { _id, state: 'waiting', claim: { $exists: false } },
      { $set: { dueAtMs: nowMs } },
    );
  }

  return {
    async addEvent(recordingEvent, { traceparent, ...of }, nowMs, waitUntilMs) {
      const _id = recordingEvent.recordingId;
      const empty: RecordingDocument = {
        ...{
          _id,
          ...of,
          createdAtMs: nowMs,
          state: 'waiting',
          message: '',
          reportFile: null,
          expected: null,
        },
        ...{ archives: [], setting: '', partBytes: 0, files: [], attempts: 0, urlFailures: 0, renewals: 0 },
        ...{ endedAtMs: 0, owed: false, dueAtMs: waitUntilMs },
      };
      if (!(await recordings.findOne({ _id }, { projection: { _id: 1 } }))) {
        try {
          await recordings.insertOne(empty);
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }
      const eventFields = { dueAtMs: waitUntilMs, heardAtMs: nowMs, ...(traceparent && { traceparent }) };
      const open: Filter<RecordingDocument> = { _id, channelId: of.channelId, state: 'waiting' };
      if ('archive' in recordingEvent) {
        await recordings.updateOne(
          { ...open, 'archives.connectionId': { $ne: recordingEvent.archive.connectionId } },
          { $push: { archives: recordingEvent.archive }, $set: eventFields },
        );
      } else {
        const { reportFile, expected } = recordingEvent;
        await recordings.updateOne(
          { ...open, reportFile: null },
          { $set: { reportFile, expected, ...eventFields } },
        );
      }
      const found = await recordings.findOne({ _id }, { projection: withoutUrls });
      await makeDueIfComplete(found, nowMs);
      return found ? recordingOf(found) : undefined;
    },

    async get(recordingId) {
      const found = await recordings.findOne({ _id: recordingId }, { projection: withoutUrls });
      return found ? recordingOf(found) : undefined;
    },

    async list(applicationId, limit) {
      const filter: Filter<RecordingDocument> = applicationId === undefined ? {} : { applicationId };
      const found = await recordings
        .find(filter, { sort: { createdAtMs: -1 }, limit, projection: withoutUrls })
        .toArray();
      return found.map(recordingOf);
    },

    async backlog() {
      const open = {
        waiting: { count: 0, oldestCreatedAtMs: undefined as number | undefined },
        uploading: { count: 0, oldestCreatedAtMs: undefined as number | undefined },
        untold: { count: 0, oldestCreatedAtMs: undefined as number | undefined },
      };
      const projection = { state: 1, createdAtMs: 1 } as const;
      for await (const { state, createdAtMs } of recordings.find({ dueAtMs: { $gte: 0 } }, { projection })) {
        const one = open[state === 'waiting' || state === 'uploading' ? state : 'untold'];
        one.count += 1;
        one.oldestCreatedAtMs = Math.min(createdAtMs, one.oldestCreatedAtMs ?? createdAtMs);
      }
      return open;
    },

    async claimDue(nowMs, untilMs, claim, except) {
      const { applicationIds, recordingIds } = except;
      const found = await recordings.findOneAndUpdate(
        {
          dueAtMs: { $lte: nowMs },
          ...(applicationIds.length > 0 && { applicationId: { $nin: [...applicationIds] } }),
          ...(recordingIds.length > 0 && { _id: { $nin: [...recordingIds] } }),
        },
        { $set: { dueAtMs: untilMs, claim } },
        { sort: { dueAtMs: 1 }, returnDocument: 'after', projection: withoutUrls },
      );
      return found ? recordingOf(found) : undefined;
    },

    renew: (claim, untilMs) => update(claim, { $set: { dueAtMs: untilMs } }),

    change: (claim, { notificationPending: owed, ...change }) =>
      update(claim, { $set: { ...change, ...(owed !== undefined && { owed }) } }),

    async release(claim, dueAtMs, nowMs) {
      await update(claim, { $set: { dueAtMs }, $unset: { claim: '' } });
      // Events that arrived during the claim may have completed the recording.
      await makeDueIfComplete(
        await recordings.findOne({ _id: claim.recordingId }, { projection: withoutUrls }),
        nowMs,
      );
    },

    async resetFutureDueTimes(latestMs, nowMs) {
      await recordings.updateMany({ dueAtMs: { $gt: latestMs } }, { $set: { dueAtMs: nowMs } });
    },

    issue(claim, urls, files) {
      const sealed = secrets.seal(JSON.stringify(urls), purpose(claim.recordingId));
      return update(claim, {
        $set: { urls: Buffer.from(sealed).toString('base64'), files: [...files], urlFailures: 0 },
      });
    },

    async urls(recordingId) {
      const found = await recordings.findOne({ _id: recordingId }, { projection: { urls: 1 } });
      if (!found?.urls) return undefined;
      return JSON.parse(secrets.open(Buffer.from(found.urls, 'base64'), purpose(recordingId))) as SignedUrls;
    },

    async partSent(claim, index, part, tag) {
      const { matchedCount } = await recordings.updateOne(
        { ...claimed(claim), [`files.${index}.parts.${part}`]: { $exists: false } },
        { $push: { [`files.${index}.parts`]: tag } },
      );
      return matchedCount === 1;
    },

    async finished(claim, nowMs) {
      await update(claim, {
        $set: { owed: false, expiresAt: new Date(nowMs + keepMs) },
        $unset: { dueAtMs: '', claim: '', urls: '' },
      });
    },
  };
}

function recordingOf(document: WithId<RecordingDocument>): Recording {
  const { _id, dueAtMs: _due, claim: _claim, urls: _urls, expiresAt: _expires, ...rest } = document;
  const { traceparent = '', owed: notificationPending, ...recording } = rest;
  return { recordingId: _id, traceparent, notificationPending, ...recording };
}

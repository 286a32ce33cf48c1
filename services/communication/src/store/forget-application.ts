import { formatPagePosition, parsePagePosition } from '@headset-cloud/rules/forget/page-position.ts';
import { forgetAtOnce } from '@headset-cloud/rules/forget/request.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { emptiedBody } from '../domain/sora-event.ts';
import type { ApplicationForgetStore, ApplicationPage } from '../ports/application-forget-store.ts';
import type { ChannelDocument, EventDocument, RecordingDocument } from './documents.ts';

/** Sorts after every channel. Recordings come last, because events create them. */
const recordingsPosition = '\uffff';

/** An application's channels with Sora's events, and its recordings. */
export function createApplicationForgetStore(of: {
  readonly channels: StoreCollection<ChannelDocument>;
  readonly events: StoreCollection<EventDocument>;
  readonly recordings: StoreCollection<RecordingDocument>;
}): ApplicationForgetStore {
  const { channels, events, recordings } = of;
  const limit = events.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;
  const nothing = { channels: 0, events: 0, recordings: 0, held: 0 };

  async function channelAfter(applicationId: string, name: string): Promise<string | undefined> {
    const filter = { applicationId, _id: { $gt: name } };
    const found = await channels.findOne(filter, { sort: { _id: 1 }, projection: { _id: 1 } });
    return found?._id;
  }

  /**
   * Removes the content of a channel's events after `seq`. After the last events, also removes the application from the
   * channel.
   */
  async function forgetChannel(applicationId: string, channelId: string, seq: number, dryRun: boolean) {
    const found = await events
      .find(
        { channelId, seq: { $gt: seq } },
        { sort: { seq: 1 }, limit, projection: { seq: 1, dueAtMs: 1, applicationId: 1 } },
      )
      .toArray();
    const held = found.filter(({ dueAtMs }) => dueAtMs !== undefined).length;
    const done = found.filter((one) => one.dueAtMs === undefined && one.applicationId === applicationId);
    if (!dryRun && done.length > 0) {
      await events.updateMany(
        { _id: { $in: done.map(({ _id }) => _id) }, dueAtMs: { $exists: false } },
        { $set: { body: emptiedBody, applicationId: '' } },
      );
    }
    const page = { ...nothing, events: done.length, held };
    const last = found.length === limit ? found.at(-1)?.seq : undefined;
    if (last !== undefined) return { ...page, next: formatPagePosition({ number: last, name: channelId }) };
    return {
      ...page,
      channels: await releaseChannel(applicationId, channelId, dryRun),
      next: formatPagePosition({ number: 0, name: channelId }),
    };
  }

  /**
   * Removes the application from the channel, unless one of its events is unprocessed. Returns the number of changed
   * channels.
   */
  async function releaseChannel(applicationId: string, channelId: string, dryRun: boolean): Promise<number> {
    const undone = { channelId, dueAtMs: { $exists: true } };
    if (await events.findOne(undone, { projection: { _id: 1 } })) return 0;
    if (dryRun) return 1;
    const { matchedCount } = await channels.updateOne(
      { _id: channelId, applicationId },
      { $set: { applicationId: '' } },
    );
    return matchedCount;
  }

  /** Removes ended recordings. Other recordings end soon: without the application's settings they are not uploaded. */
  async function forgetRecordings(applicationId: string, dryRun: boolean): Promise<ApplicationPage> {
    const ended = { applicationId, dueAtMs: { $exists: false } };
    if (dryRun) {
      const [all, removed] = await Promise.all([
        recordings.countDocuments({ applicationId }),
        recordings.countDocuments(ended),
      ]);
      return { ...nothing, recordings: removed, held: all - removed, next: '' };
    }
    const found = await recordings.find(ended, { limit, projection: { _id: 1 } }).toArray();
    const these = { _id: { $in: found.map(({ _id }) => _id) }, ...ended };
    const { deletedCount } = await recordings.deleteMany(these);
    if (found.length === limit) {
      return {
        ...nothing,
        recordings: deletedCount,
        next: formatPagePosition({ number: 0, name: recordingsPosition }),
      };
    }
    const held = await recordings.countDocuments({ applicationId });
    return { ...nothing, recordings: deletedCount, held, next: '' };
  }

  return {
    async forget(applicationId, after, dryRun) {
      const { number: seq, name } = parsePagePosition(after);
      const channelId = seq > 0 ? name : await channelAfter(applicationId, name);
      return channelId === undefined
        ? forgetRecordings(applicationId, dryRun)
        : forgetChannel(applicationId, channelId, seq, dryRun);
    },
  };
}

import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import { beginningWith } from '@headset-cloud/kit/forget/ids.ts';
import type { Filter } from '@headset-cloud/kit/store/operations.ts';
import type { Store, StoreCollection } from '@headset-cloud/kit/store/types.ts';
import { mayBeReplaced } from '../domain/chain.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Resent, Unplaced } from '../domain/feed-order.ts';
import type { FeedHead, FeedPage, FeedResend, FeedStore } from '../ports.ts';
import { type DeliveryDocument, fromDocument } from './documents.ts';
import { deliveriesCollection, feedPagesCollection, feedsCollection } from './indexes.ts';

/** One for each application whose feed was ever read. */
export interface FeedDocument extends FeedHead {
  /** The application. */
  _id: string;
}

export interface FeedPageDocument extends Omit<FeedPage, 'number' | 'ids' | 'resends' | 'removedAtMs'> {
  /** Application, a space and the number, so that a range of ids is a range of pages. */
  _id: string;
  /** Of deliveries, in their order; empty where one was forgotten. */
  ids: string[];
  /** Absent: none. */
  resends?: FeedResend[];
  /** When it is removed: at least a day after the last of its deliveries may be there. */
  expireAt: Date;
}

/** All numbers below 10¹⁵ sort as their texts do. */
const digits = 15;

export function pageKey(applicationId: string, number: number): string {
  return `${applicationId} ${String(number).padStart(digits, '0')}`;
}

/** The write that takes an id off a page. Its place stays, so that cursors mean the same. */
export function takenOff(id: string, applicationId: string, page: number) {
  const update = { $set: { 'ids.$': '' } };
  return { updateOne: { filter: { _id: pageKey(applicationId, page), ids: id }, update } };
}

/** The feed in the database of the deliveries: no body is stored twice (ADR 0053). */
export function createFeedStore(store: Store): FeedStore {
  const feeds = store.collection<FeedDocument>(feedsCollection);
  const pages = store.collection<FeedPageDocument>(feedPagesCollection);
  const deliveries: StoreCollection<DeliveryDocument> = store.collection(deliveriesCollection);

  // Durable with the head's update, which comes last (ADR 0012).
  const unsettled = {
    pages: store.collection<FeedPageDocument>(feedPagesCollection, { settle: 'in-order' }),
    deliveries: store.collection<DeliveryDocument>(deliveriesCollection, { settle: 'in-order' }),
  };
  const projection = {
    applicationId: 1,
    unplaced: 1,
    orderKey: 1,
    sequence: 1,
    replaceable: 1,
    takenOver: 1,
    status: 1,
    resends: 1,
    createdAtMs: 1,
    expireAt: 1,
  } as const;

  /** Each is on one page for having been sent again, the last one: pages are forgotten by what a delivery names. */
  async function completeResends(applicationId: string, page: FeedPage) {
    const { number } = page;
    const ids = page.resends.flatMap(({ place }) => page.ids[place] || []);
    const found = await deliveries
      .find({ _id: { $in: ids } }, { projection: { page: 1, resendPage: 1 } })
      .toArray();
    const off = found.flatMap(({ _id, resendPage = number }) =>
      resendPage < number ? [takenOff(_id, applicationId, resendPage)] : [],
    );
    if (off.length > 0) await unsettled.pages.bulkWrite(off);
    // They are kept for longer now, so the pages of their first places are, too.
    const firstPages = [...new Set(found.map((one) => one.page ?? 0))].map((n) => pageKey(applicationId, n));
    const expireAt = new Date(page.removedAtMs);
    await unsettled.pages.updateMany(
      { _id: { $in: firstPages }, expireAt: { $lt: expireAt } },
      { $set: { expireAt } },
    );
    let matched = 0;
    for (const [resends, its] of Map.groupBy(page.resends, (one) => one.resends)) {
      const before = {
        _id: { $in: its.flatMap(({ place }) => page.ids[place] || []) },
        $or: [{ resendPage: { $exists: false } }, { resendPage: { $lt: number } }],
      };
      const marked = await unsettled.deliveries.updateMany(
        { ...before, resends },
        { $set: { resendPage: number }, $unset: { resent: '' } },
      );
      // One that was sent again once more has a further place to come.
      const more = await unsettled.deliveries.updateMany(
        { ...before, resends: { $gt: resends } },
        { $set: { resendPage: number } },
      );
      matched += marked.matchedCount + more.matchedCount;
    }
    if (matched < ids.length) await takeOffGone(applicationId, number, ids);
  }

  /** Whoever forgets one finds its pages by its marks: one that went before it had them is still on this one. */
  async function takeOffGone(applicationId: string, number: number, ids: readonly string[]) {
    const there = await deliveries.find({ _id: { $in: [...ids] } }, { projection: { _id: 1 } }).toArray();
    const gone = new Set(ids).difference(new Set(there.map(({ _id }) => _id)));
    const changes = [...gone].map((id) => takenOff(id, applicationId, number));
    if (changes.length > 0) await unsettled.pages.bulkWrite(changes);
  }

  async function between(applicationId: string, from: number, to: number, limit?: number) {
    const found = await pages
      .find(
        { _id: { $gte: pageKey(applicationId, from), $lte: pageKey(applicationId, to) } },
        { sort: { _id: 1 }, ...(limit !== undefined && { limit }) },
      )
      .toArray();
    return found.map(fromPage);
  }

  return {
    async head(applicationId) {
      return (await feeds.findOne({ _id: applicationId })) ?? undefined;
    },
    async begin(applicationId, head) {
      try {
        await feeds.insertOne({ _id: applicationId, ...head });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
    async page(applicationId, number) {
      const found = await pages.findOne({ _id: pageKey(applicationId, number) });
      return found ? fromPage(found) : undefined;
    },
    async pages(applicationId, from, to, limit) {
      // Numbers follow each other, but for pages that had their time: the stand-in for MongoDB reads all of a range.
      const near = from + limit - 1;
      const found = await between(applicationId, from, Math.min(to, near));
      if (found.length > 0 || near >= to) return found;
      return between(applicationId, near + 1, to, limit);
    },
    async unplaced(applicationId, limit) {
      const found = await deliveries
        .find({ applicationId, unplaced: true }, { sort: { createdAtMs: 1 }, limit, projection })
        .toArray();
      return found.map(toUnplaced);
    },
    async ofTransactions(applicationId, orderKeys) {
      if (orderKeys.length === 0) return { unplaced: [], placedUpTo: new Map() };
      const $or = orderKeys.map((orderKey) => beginningWith(`${orderKey}-`));
      // By their ids alone: with a condition more the index of what is unplaced would be read, all of it.
      const found = await deliveries.find({ $or } as Filter<DeliveryDocument>, { projection }).toArray();
      const own = found.filter((one) => one.applicationId === applicationId);
      const placedUpTo = new Map<string, number>();
      for (const { unplaced, orderKey, sequence } of own) {
        if (!unplaced) placedUpTo.set(orderKey, Math.max(sequence, placedUpTo.get(orderKey) ?? 0));
      }
      return { unplaced: own.filter(({ unplaced }) => unplaced).map(toUnplaced), placedUpTo };
    },
    async leaveOut(ids) {
      const replaced = { _id: { $in: [...ids] }, unplaced: true, status: 'replaced' } as const;
      await deliveries.updateMany(replaced, { $unset: { unplaced: '' } });
    },
    async resent(applicationId, limit) {
      const found = await deliveries
        .find(
          { applicationId, resent: true },
          { sort: { resentAtMs: 1 }, limit, projection: { unplaced: 1, resends: 1, expireAt: 1 } },
        )
        .toArray();
      return found.map(toResent);
    },
    async add(applicationId, { number, resends, removedAtMs, ...page }) {
      try {
        await unsettled.pages.insertOne({
          _id: pageKey(applicationId, number),
          ...page,
          ids: [...page.ids],
          ...(resends.length > 0 && { resends: [...resends] }),
          expireAt: new Date(removedAtMs),
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async complete(applicationId, page) {
      const { number, ids, resends, tag, sinceMs, newestMs } = page;
      const sentAgain = new Set(resends.map(({ place }) => place));
      const first = ids.filter((_, place) => !sentAgain.has(place));
      if (first.length > 0) {
        const { matchedCount } = await unsettled.deliveries.updateMany(
          // A reader that comes here late must not take from one what was done to it since.
          { _id: { $in: first }, unplaced: true },
          { $set: { page: number }, $unset: { unplaced: '', resent: '' } },
        );
        if (matchedCount < first.length) await takeOffGone(applicationId, number, first);
      }
      if (resends.length > 0) await completeResends(applicationId, page);
      await feeds.updateOne(
        { _id: applicationId, last: number - 1 },
        { $set: { last: number, tag, sinceMs, newestMs } },
      );
    },
    async wholeAt(applicationId, last, atMs) {
      await feeds.updateOne({ _id: applicationId, last }, { $max: { sinceMs: atMs } });
    },
    async remove(applicationId, numbers) {
      await pages.deleteMany({ _id: { $in: numbers.map((number) => pageKey(applicationId, number)) } });
    },
    async startFrom(applicationId, number) {
      await feeds.updateOne({ _id: applicationId }, { $max: { start: number } });
    },
    async deliveries(ids) {
      const found = await deliveries.find({ _id: { $in: [...ids] } }).toArray();
      return new Map(found.map((document): [string, Delivery] => [document._id, fromDocument(document)]));
    },
  };
}

function toUnplaced(found: DeliveryDocument): Unplaced {
  const { _id, orderKey, sequence, createdAtMs, expireAt } = found;
  return {
    ...{ id: _id, orderKey, sequence, createdAtMs },
    progress: progressOf(found),
    expireAtMs: expireAt?.getTime(),
  };
}

/** What has been sent, and what is to be sent again, has its place however late it was stored. */
function progressOf(found: DeliveryDocument): Unplaced['progress'] {
  const { status, resends = 0 } = found;
  if (!mayBeReplaced(found) || resends > 0) return undefined;
  return status === 'replaced' ? 'replaced' : status === 'pending' ? 'open' : undefined;
}

function toResent({ _id, resends = 0, unplaced, expireAt }: DeliveryDocument): Resent {
  return { id: _id, resends, isPlaced: unplaced !== true, expireAtMs: expireAt?.getTime() };
}

function fromPage({ _id, expireAt, resends = [], ...page }: FeedPageDocument): FeedPage {
  return { ...page, resends, number: Number(_id.slice(-digits)), removedAtMs: expireAt.getTime() };
}

/** Readers of several instances that freeze, die and are refused by their store at random, against the ideal (ADR 0053). */
import type { TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { FeedStore } from '../ports.ts';
import { sentAgain } from '../store/deliveries.ts';
import type { DeliveryDocument } from '../store/documents.ts';
import { createFeedStore, type FeedPageDocument } from '../store/feed.ts';
import { feedPagesCollection } from '../store/indexes.ts';
import { eventDocument, keptMs, openFeedBed, openMs } from '../testing/feed-bed.ts';
import { Feed } from './feed.ts';

const beganAtMs = Date.UTC(2026, 0, 1);
const rounds = Number(process.env['ROUNDS'] ?? 1);
const writes = Number(process.env['WRITES'] ?? 20);
const firstSeed = Number(process.env['SEED'] ?? 1);

function randomOf(seed: number) {
  let state = seed * 2654435761;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const tick = () => new Promise<void>((go) => setImmediate(go));

let bed: TestBed;
let deliveries: StoreCollection<DeliveryDocument>;
beforeEach(async () => {
  ({ bed, deliveries } = await openFeedBed());
});
afterEach(() => bed.remove());

test.each(Array.from({ length: rounds }, (_, i) => firstSeed + i))(
  'seed %i',
  async (seed) => {
    const random = randomOf(seed);
    const below = (n: number) => Math.floor(random() * n);
    let nowMs = beganAtMs;
    let isOver = false;
    /** Calls that stand still until somebody lets them go. */
    const frozen: (() => void)[] = [];
    const real = createFeedStore(bed.store);
    function faulty(): FeedStore {
      const wrap = (name: keyof FeedStore) => {
        const call = real[name] as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          if (isOver) return call(...args);
          const fate = random();
          if (fate < 0.01) throw new Error('fault: not done');
          for (let i = below(4); i > 0; i--) await tick();
          if (fate > 0.94) await new Promise<void>((go) => frozen.push(go));
          const answer = await call(...args);
          if (fate < 0.02) throw new Error('fault: done, and not told');
          if (random() > 0.97) await new Promise<void>((go) => frozen.push(go));
          return answer;
        };
      };
      return Object.fromEntries(
        (Object.keys(real) as (keyof FeedStore)[]).map((name) => [name, wrap(name)]),
      ) as unknown as FeedStore;
    }
    const stored: DeliveryDocument[] = [];
    const mayMiss = new Set<string>();
    // Clocks of several processes.
    const documentOf = (_id: string, more: Partial<DeliveryDocument> = {}): DeliveryDocument =>
      eventDocument({ _id, ...more }, nowMs + (below(3) - 1) * 3_600_000 + below(1000));
    async function put(documents: DeliveryDocument[]) {
      stored.push(...documents);
      // Those of a transaction one after the other.
      await deliveries.insertMany(documents);
    }

    const transactions = new Map<number, number>();
    async function write() {
      for (let i = 0; i < writes; i++) {
        nowMs += 1000;
        const kind = random();
        if (kind < 0.2) {
          const size = 100 + below(350);
          await put(
            Array.from({ length: size }, (_, n) => documentOf(`b-${i}-${String(n).padStart(3, '0')}`)),
          );
        } else if (kind < 0.75) {
          const t = below(12);
          const sequence = (transactions.get(t) ?? 0) + 1;
          const skips = random() < 0.2 && sequence > 1;
          const next = skips ? sequence + 1 : sequence;
          transactions.set(t, next);
          const of = (n: number, more: Partial<DeliveryDocument> = {}) =>
            documentOf(`tx-${t}-${n % 2 ? 'progress' : 'a'}-${n}`, {
              ...{
                orderKey: `tx-${t}`,
                order: 'ended',
                sequence: n,
                replaceable: n > 1 && n % 2 === 1,
                ...more,
              },
            });
          await put([of(next)]);
          if (skips && sequence % 2 === 1) {
            for (let n = below(5); n > 0; n--) await tick();
            const late = of(sequence, { status: 'replaced' });
            mayMiss.add(late._id);
            await put([late]);
          }
        } else if (kind < 0.9 && stored.length > 0) {
          const ids = Array.from(
            { length: 1 + below(random() < 0.1 ? 200 : 5) },
            () => stored[below(stored.length)]?._id,
          );
          const some = ids.flatMap((id) => (id === undefined || mayMiss.has(id) ? [] : [id]));
          await deliveries.updateMany({ _id: { $in: some } }, sentAgain(nowMs));
        } else await put([documentOf(`s-${i}`)]);
        for (let n = below(30); n > 0; n--) await tick();
        for (let n = frozen.length; n > 0; n--) {
          if (random() < 0.15) frozen.splice(below(frozen.length), 1)[0]?.();
        }
      }
    }

    interface Seen {
      readonly id: string;
      readonly resends: number;
    }
    const refusals: unknown[] = [];
    async function reader(withResends: boolean) {
      const feed = new Feed({
        store: faulty(),
        clock: { now: () => nowMs + (below(3) - 1) * 1_800_000 },
        keptMs,
        longestMs: keptMs,
        openMs,
      });
      const seen: Seen[] = [];
      let cursor: string | undefined;
      for (;;) {
        const last = isOver;
        const limit = [1, 7, 100, 130, 1000][below(5)] as number;
        let more = true;
        try {
          const asked = feed.read({
            ...{ applicationId: 'app', after: cursor, limit, filter: { types: [], deviceId: '' } },
            withResends,
          });
          // A caller that gives up; the work goes on, or stands still.
          const answer = await Promise.race([
            asked,
            (async () => {
              for (let n = 0; n < 400; n++) await tick();
            })(),
          ]);
          asked.catch(() => {});
          if (!answer) {
            await tick();
            continue;
          }
          seen.push(...answer.events.map(({ delivery, resends }) => ({ id: delivery.id, resends })));
          ({ cursor, more } = answer);
        } catch (error) {
          if ((error as { code?: string }).code !== undefined) {
            refusals.push(error);
            return seen;
          }
          if (!(error as Error).message.startsWith('fault')) throw error;
        }
        if (last && !more) return seen;
        await tick();
      }
    }

    const readers = [reader(false), reader(true), reader(false), reader(true), reader(false)];
    await write();
    isOver = true;
    let hasEnded = false;
    const lettingGo = (async () => {
      for (; !hasEnded; await tick()) for (const go of frozen.splice(0)) go();
    })();
    const all = await Promise.all(readers);
    hasEnded = true;
    await lettingGo;
    const lists: Seen[][] = [...all, await reader(false), await reader(true)];
    expect(refusals).toEqual([]);

    const firsts = lists.map((list) => list.filter(({ resends }) => resends === 0).map(({ id }) => id));
    const ideal = firsts.at(-1) as string[];
    for (const ids of firsts) {
      expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
      expect(ids).toEqual(ideal);
    }
    const had = new Set(ideal);
    expect(stored.map(({ _id }) => _id).filter((id) => !had.has(id) && !mayMiss.has(id))).toEqual([]);
    const sequences = new Map(stored.map(({ _id, orderKey, sequence }) => [_id, { orderKey, sequence }]));
    const latest = new Map<string, number>();
    for (const id of ideal) {
      const { orderKey, sequence } = sequences.get(id) as { orderKey: string; sequence: number };
      if (orderKey === '') continue;
      expect([id, sequence]).toEqual([id, Math.max(sequence, latest.get(orderKey) ?? 0)]);
      latest.set(orderKey, sequence);
    }
    // What was sent again: at most once for each time, and the last place is one that every reader has.
    const documents = await deliveries.find({}).toArray();
    expect(documents.filter(({ unplaced, resent }) => unplaced || resent)).toEqual([]);
    const pages = await bed.store.collection<FeedPageDocument>(feedPagesCollection).find({}).toArray();
    const numberOf = (page: FeedPageDocument) => Number(page._id.slice(-15));
    for (const list of lists.filter((_, i) => [1, 3, 6].includes(i))) {
      const again = list.filter(({ resends }) => resends > 0).map(({ id, resends }) => `${id}*${resends}`);
      expect(again.filter((id, i) => again.indexOf(id) !== i)).toEqual([]);
      for (const { _id, resendPage } of documents) {
        if (resendPage !== undefined) expect(again.some((one) => one.startsWith(`${_id}*`))).toBe(true);
      }
    }
    for (const { _id, page: first, resendPage } of documents) {
      const on = pages.filter(({ ids }) => ids.includes(_id)).map(numberOf);
      const noted = [first, resendPage].filter((number) => number !== undefined);
      if (mayMiss.has(_id) && first === undefined) continue;
      expect([_id, on.sort((a, b) => a - b)]).toEqual([_id, noted.sort((a, b) => a - b)]);
    }
  },
  120_000,
);

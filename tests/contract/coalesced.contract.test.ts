import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import { coalescedChange, coalescedReader, coalescedWriter } from '@headset-cloud/store/coalesced.ts';
import type { TransactionDocument } from '@headset-cloud/transactions/store/documents.ts';
import { openOfDevices } from '@headset-cloud/transactions/store/open-of-device.ts';
import { describeUnless } from '../support/skip.ts';
import { embeddedStack, type Stack, serverStack, whyNoServer } from './store-stacks.ts';

/** Combined writes keep the promises of single writes, on the embedded store and over the network. */
const missing = whyNoServer();

interface Counted {
  _id: string;
  n: number;
}

interface Taken {
  _id: string;
  state: string;
  changes: number;
  by?: number;
  seat?: number;
  stamp?: string;
}

for (const [name, open] of [
  ['the embedded store', async () => embeddedStack()],
  ['MongoDB', serverStack],
] as const) {
  describeUnless(name === 'MongoDB' ? missing : undefined, `many at once on ${name}`, () => {
    let stack: Stack;
    beforeAll(async () => {
      stack = await open();
    });
    afterAll(() => stack.stop());

    it('each insert is stored or rejected separately', async () => {
      const collection = stack.connection.database('coalesced').collection<Counted>('inserts');
      const batches: number[] = [];
      const insert = coalescedWriter<Counted>(collection, {
        one: (d) => collection.insertOne(d),
        many: (ds) => {
          batches.push(ds.length);
          return collection.insertMany([...ds], { ordered: false });
        },
      });
      // Every id twice: one insert is stored, the other finds the duplicate.
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, (_, i) => insert({ _id: `d${i % 100}`, n: i })),
      );
      const refused = outcomes.filter((o) => o.status === 'rejected');
      expect(refused).toHaveLength(100);
      expect(refused.every((o) => isDuplicateKey(o.reason))).toBe(true);
      expect(await collection.countDocuments({})).toBe(100);
      expect(Math.max(...batches)).toBeGreaterThan(10);
    });

    it('each conditional upsert succeeds or fails separately', async () => {
      const collection = stack.connection.database('coalesced').collection<Counted>('raises');
      const raise = coalescedWriter<{ _id: string; n: number }>(collection, {
        one: ({ _id, n }) => collection.updateOne({ _id, n: { $lt: n } }, { $max: { n } }, { upsert: true }),
        many: (all) =>
          collection.bulkWrite(
            all.map(({ _id, n }) => ({
              updateOne: { filter: { _id, n: { $lt: n } }, update: { $max: { n } }, upsert: true },
            })),
            { ordered: false },
          ),
      });
      const values = Array.from({ length: 300 }, (_, i) => ({ _id: `h${i % 10}`, n: (i * 7919) % 300 }));
      const outcomes = await Promise.allSettled(values.map(raise));
      for (let h = 0; h < 10; h++) {
        const mine = values.map((v, i) => ({ ...v, ok: outcomes[i]?.status === 'fulfilled' }));
        const ours = mine.filter((v) => v._id === `h${h}`);
        const highest = Math.max(...ours.map((v) => v.n));
        expect(ours.find((v) => v.n === highest)?.ok).toBe(true);
        // Successful upserts: no two have the same value, and none has a value that was passed before it.
        const raised = ours.filter((v) => v.ok).map((v) => v.n);
        expect(new Set(raised).size).toBe(raised.length);
        expect((await collection.findOne({ _id: `h${h}` }))?.n).toBe(highest);
      }
      for (const o of outcomes) if (o.status === 'rejected') expect(isDuplicateKey(o.reason)).toBe(true);
    });

    it('each conditional change has one winner, which gets the resulting document; the others get none', async () => {
      const collection = stack.connection.database('coalesced').collection<Taken>('changes');
      const documents = 60;
      await collection.createIndexes([{ key: { seat: 1 }, name: 'seat', unique: true, sparse: true }]);
      await collection.insertMany(
        Array.from({ length: documents }, (_, i) => ({ _id: `c${i}`, state: 'free', changes: 0 })),
      );
      await collection.insertOne({ _id: 'holder', state: 'taken', changes: 0, seat: 7 });
      const take = coalescedChange(collection, 'stamp');
      // Four callers for each document, one caller for a missing document, and one caller that an index rejects.
      const callers = Array.from({ length: 4 * documents }, (_, i) => ({ _id: `c${i % documents}`, by: i }));
      const outcomes = await Promise.allSettled([
        ...callers.map(({ _id, by }) =>
          take({
            filter: { _id, state: 'free' },
            update: { $set: { state: 'taken', by }, $inc: { changes: 1 } },
          }),
        ),
        take({ filter: { _id: 'nobody', state: 'free' }, update: { $set: { state: 'taken' } } }),
        take({ filter: { _id: 'c0' }, update: { $set: { seat: 7 } } }),
      ]);
      const [refused, nobody] = [outcomes.pop(), outcomes.pop()];
      expect(refused).toMatchObject({ status: 'rejected' });
      expect(isDuplicateKey((refused as PromiseRejectedResult).reason)).toBe(true);
      expect(nobody).toEqual({ status: 'fulfilled', value: undefined });
      const won = outcomes.flatMap((o, i) =>
        o.status === 'fulfilled' && o.value ? [{ ...callers[i], got: o.value }] : [],
      );
      expect(won.map(({ _id }) => _id).sort()).toEqual(
        Array.from({ length: documents }, (_, i) => `c${i}`).sort(),
      );
      for (const { _id, by, got } of won) {
        expect(got).toMatchObject({ _id, by, state: 'taken', changes: 1 });
        expect(await collection.findOne({ _id })).toEqual(got);
      }
      // In the process each is a separate call without a stamp.
      expect(won.some(({ got }) => got.stamp !== undefined)).toBe(name === 'MongoDB');
    });

    it('each read gets its document, or none', async () => {
      const collection = stack.connection.database('coalesced').collection<Counted>('reads');
      await collection.insertMany(Array.from({ length: 50 }, (_, i) => ({ _id: `r${i}`, n: i })));
      const read = coalescedReader(collection);
      const found = await Promise.all(Array.from({ length: 120 }, (_, i) => read(`r${i % 60}`)));
      expect(found.map((d) => d?.n)).toEqual(
        Array.from({ length: 120 }, (_, i) => (i % 60 < 50 ? i % 60 : undefined)),
      );
    });

    it('each device gets all of its open transactions and no others, independent of other devices', async () => {
      const collection = stack.connection.database('coalesced').collection<TransactionDocument>('open');
      // Devices without open transactions, with as many as a page holds, and with more.
      const counts = [0, 1, 63, 64, 0, 65, 3, 130, 0, 1];
      const deviceOf = (i: number) => `35${String(i).padStart(13, '0')}`;
      let id = 0;
      const documents = counts.flatMap((count, i) =>
        Array.from({ length: count + 1 }, (_, n) => {
          id += 1;
          const open = n < count ? { open: true as const } : {};
          return { _id: (id * 7919) % 100_003, deviceId: deviceOf(i), status: 'published', ...open };
        }),
      );
      await collection.insertMany(documents as never);
      const openOf = openOfDevices(collection);
      const asked = [...counts.keys(), 3, 99];
      const found = await Promise.all(asked.map((i) => openOf(deviceOf(i))));
      const expected = (i: number) =>
        documents
          .filter((d) => d.deviceId === deviceOf(i) && 'open' in d)
          .map((d) => d._id)
          .sort((a, b) => a - b);
      expect(found.map((open) => open.map((t) => t.id))).toEqual(asked.map(expected));
      expect((await openOf(deviceOf(7))).map((t) => t.id)).toEqual(expected(7));
    });
  });
}

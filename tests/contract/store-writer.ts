import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';

/**
 * Writes to the embedded store in the directory of its first argument until it is killed, and prints
 * each write once it is acknowledged: `insert n`, `raise n`, `delete n`.
 */
const [directory = ''] = process.argv.slice(2);
const store = createEmbeddedStore(openEmbeddedDatabase({ directory }));
const things = store.database('durability').collection<{ _id: number; value: number }>('things');
await things.createIndexes([{ key: { value: 1 } }]);

const say = (line: string) => process.stdout.write(`${line}\n`);
for (let n = (await things.countDocuments({})) * 10; ; n += 16) {
  const batch = Array.from({ length: 16 }, (_, i) => n + i);
  await Promise.all(
    batch.map(async (_id) => {
      await things.insertOne({ _id, value: 0 });
      say(`insert ${_id}`);
      await things.findOneAndUpdate({ _id, value: 0 }, { $inc: { value: 1 } });
      say(`raise ${_id}`);
      if (_id % 5 > 0) return;
      await things.deleteOne({ _id });
      say(`delete ${_id}`);
    }),
  );
}

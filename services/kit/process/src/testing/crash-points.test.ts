import { CutOff, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import type { Channel } from '@headset-cloud/rpc/types.ts';
import { parseCrashPoint } from './crash-points.ts';

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('devices');
});
afterEach(() => bed.remove());

/** The ports of a service that crashes at that write. Returns the stored part and the outcome of one write. */
async function crashing(cutAt: string) {
  const world: { cutAt: string | undefined } = { cutAt };
  const called: string[] = [];
  const channel = { unary: async ({ name }: { name: string }) => called.push(name) } as unknown as Channel;
  const context = bed.context({ channel: () => channel }, () => world);
  const things = context.store.collection<{ _id: number; at?: { x: number } }>('things');
  await context.log.ensureTopics([topics.usage]);
  const call = (name: string) => context.channel('billing').unary({ name } as never, {}, {});
  const publish = () => context.log.publish(topics.usage, [{ key: 'k', value: new Uint8Array() }]);
  const stored = async () => (await things.find({}).toArray()).map(({ _id }) => _id);
  return { world, called, things, call, publish, stored };
}

test('a crash before a write leaves it out, a crash after it does not; either happens once', async () => {
  for (const [when, left] of [
    ['before', [1]],
    ['after', [1, 2]],
  ] as const) {
    const { world, things, stored } = await crashing(`${when} store devices.things 2`);
    await things.insertOne({ _id: 1 });
    await expect(things.insertOne({ _id: 2 })).rejects.toThrow(CutOff);
    expect([world.cutAt, await stored()]).toEqual([undefined, left]);
    await things.deleteMany({});
  }
});

test('a write to a collection is named by its method, or by a field that it changes', async () => {
  const { world, things } = await crashing('after store devices.things.updateOne');
  await things.insertOne({ _id: 1 });
  await things.bulkWrite([{ updateOne: { filter: { _id: 1 }, update: { $set: { at: { x: 1 } } } } }]);
  await expect(things.updateOne({ _id: 1 }, { $set: { at: { x: 2 } } })).rejects.toThrow(CutOff);
  world.cutAt = 'after store devices.things.x';
  await things.updateOne({ 'at.x': 2 }, { $unset: { at: '' } });
  await things.insertMany([{ _id: 2, at: { x: 1 } }]);
  await things.deleteOne({ _id: 1 });
  const set = { updateOne: { filter: { _id: 2 }, update: { $set: { 'at.x': 2 } } } };
  await expect(things.bulkWrite([{ deleteOne: { filter: { _id: 3 } } }, set])).rejects.toThrow(CutOff);
  world.cutAt = 'after store devices.things._id';
  await expect(things.insertMany([{ _id: 4 }])).rejects.toThrow(CutOff);
});

test('reads, other collections and failed writes are passed', async () => {
  const { world, things } = await crashing('after store devices.others');
  await things.insertOne({ _id: 1 });
  await things.findOne({});
  world.cutAt = 'after store devices.things';
  await expect(things.insertOne({ _id: 1 })).rejects.toMatchObject({ code: 11000 });
  expect([await things.countDocuments(), world.cutAt]).toEqual([1, 'after store devices.things']);
});

test('the log is named by a topic, and a call by its method', async () => {
  const { world, publish, call, called } = await crashing('before log devices.usage');
  await expect(publish()).rejects.toThrow(CutOff);
  expect(await bed.log.readNewest(topics.usage, 10)).toEqual([]);
  world.cutAt = 'after rpc devices.GetBill';
  await call('PutPlans');
  await expect(call('GetBill')).rejects.toThrow(CutOff);
  expect(called).toEqual(['PutPlans', 'GetBill']);
});

test.each([
  '',
  'during store devices.things',
  'after disk devices.things',
  'after store devices',
  'after store a.b x',
])('refuses %j', (text) => {
  expect(() => parseCrashPoint(text)).toThrow(RangeError);
});

import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import {
  type ChannelDocument,
  type ConnectionDocument,
  collections,
  type EventDocument,
  type RecordingDocument,
} from './store/documents.ts';
import { createForgetStore } from './store/forget.ts';
import { caller, endpoint, openWorld, type World } from './testing/world.ts';

/** Forgetting a device's meetings (ADR 0047). */

const [device, another] = ['356938035643809', '356938035643817'];
let world: World;
let sora: SoraSimulator;
let channelId: string;
beforeEach(async () => {
  world = await openWorld();
  await world.admin.putEndpoint(endpoint('one'));
  channelId = (await world.communication.createChannel({ caller: caller() })).channelId;
  for (const one of [device, another]) world.associations.set(one, 'app');
  sora = new SoraSimulator({
    ...{ endpointId: 'one', secret: 'secret-of-one-0123456789', webhookUrl: () => world.webhookUrl() },
  });
});
afterEach(() => world.close());

const events = () => world.store.collection<EventDocument>(collections.events);
const connections = () => world.store.collection<ConnectionDocument>(collections.connections);
const texts = async () =>
  (
    await events()
      .find({}, { sort: { seq: 1 } })
      .toArray()
  ).map(({ body }) => body);
const settled = () =>
  waitFor('every event', async () => (await events().countDocuments({ dueAtMs: { $exists: true } })) === 0);
const forget = (more: { connectionIds?: string[]; dryRun?: boolean } = {}) =>
  world.admin.forgetDevice({ deviceId: device, reference: 'R', run: 'run', ...more });

async function meeting() {
  const own = sora.join(channelId, { deviceId: device }, world.nowMs - 60_000);
  const other = sora.join(channelId, { deviceId: another }, world.nowMs - 60_000);
  for (const one of [own, other]) await sora.created(one).send();
  const { recordingId, webhooks } = sora.record([own]);
  const available = webhooks[0];
  await available?.send();
  await settled();
  return { own, other, recordingId };
}

test('a page lists the connections and the callbacks of their events and recordings', async () => {
  const { own, recordingId } = await meeting();
  const { connections: page, next } = await forget({ dryRun: true });
  expect(page).toMatchObject([{ connectionId: own.connectionId, events: 2, held: 0 }]);
  const sent = (await world.callbacks()).filter(({ body }) => body.connectionId === own.connectionId);
  expect([...(page[0]?.notificationIds ?? [])].sort()).toEqual(
    [...sent.map(({ id }) => id), `recording-${recordingId}`].sort(),
  );
  expect(next).toBe('');
});

test('its events are emptied and no longer name the device, other events stay, and a repeat sends no callback', async () => {
  const { own, other } = await meeting();
  const repeat = sora.created(own);
  await repeat.send();
  await settled();
  const before = (await world.callbacks()).length;
  const { forgotten } = await forget({ connectionIds: [own.connectionId] });
  expect(forgotten).toMatchObject([
    { what: 'connections', removed: 1, left: 0 },
    { what: "contents of Sora's events", removed: 3 },
  ]);
  const left = await texts();
  expect(left.filter((text) => text === '{}')).toHaveLength(3);
  expect(left.some((text) => text.includes(device) || text.includes(own.connectionId))).toBe(false);
  expect(left.some((text) => text.includes(other.connectionId))).toBe(true);
  expect(await connections().findOne({ _id: own.connectionId })).toMatchObject({ deviceId: null });
  expect(await connections().findOne({ _id: other.connectionId })).toMatchObject({ deviceId: another });
  await repeat.send();
  expect((await world.callbacks()).length).toBe(before);
  // Later events of the connection name no device.
  await sora.destroyed(own).send();
  await settled();
  expect((await world.callbacks()).at(-1)?.body).toMatchObject({ deviceId: null });
  expect((await forget({ connectionIds: [own.connectionId] })).forgotten[0]).toMatchObject({ removed: 0 });
});

test('a connection with an unprocessed event is kept', async () => {
  const { own } = await meeting();
  const one = (
    await events()
      .find({ channelId }, { sort: { seq: 1 } })
      .toArray()
  )[0];
  await events().updateOne({ _id: one?._id ?? '' }, { $set: { dueAtMs: world.nowMs + 5000 } });
  const forgetting = createForgetStore(connections(), events());
  expect((await forgetting.page(device, '')).connections).toMatchObject([{ held: 1 }]);
  expect(await forgetting.forget(device, [own.connectionId])).toMatchObject({ connections: 0, left: 1 });
  expect(await connections().findOne({ _id: own.connectionId })).toMatchObject({ deviceId: device });
});

onEmbedded('connections are found by the index of their device', async () => {
  await connections().insertMany(
    Array.from({ length: 300 }, (_, n) => ({
      ...{ _id: `c${n}`, channelId: 'x', deviceId: another, expiresAt: new Date(world.nowMs + 1e6) },
    })),
  );
  const forgetting = createForgetStore(connections(), events());
  expect((await forgetting.page(device, '')).connections).toEqual([]);
  expect((await forgetting.page(another, '')).connections).toHaveLength(5);
});

describe('an application', () => {
  const forgetApplication = async (dryRun = false, applicationId = 'app') => {
    const all: Record<string, number[]> = {};
    let after = '';
    do {
      const answer = await world.admin.forgetApplication({
        ...{ applicationId, reference: 'R', run: 'run', dryRun, after },
      });
      for (const { what, removed, left } of answer.forgotten) {
        const [r = 0, l = 0] = all[what] ?? [];
        all[what] = [r + removed, l + left];
      }
      after = answer.next;
    } while (after !== '');
    return all;
  };
  const recordings = () => world.store.collection<RecordingDocument>(collections.recordings);
  const channels = () => world.store.collection<ChannelDocument>(collections.channels);

  test('its events are emptied, its channels and ended recordings are removed, those of others stay, and a repeat sends no callback', async () => {
    const { own, recordingId } = await meeting();
    const elsewhere = (
      await world.communication.createChannel({
        caller: { ...caller(), applicationId: 'another' },
      })
    ).channelId;
    await sora.created(sora.join(elsewhere, {}, world.nowMs - 60_000)).send();
    await settled();
    const sent = (await world.callbacks()).length;
    // The upload is in progress.
    expect(await forgetApplication(true)).toMatchObject({
      channels: [1, 0],
      "contents of Sora's events": [3, 0],
      "recordings' records": [0, 0],
      'events or uploads under way': [0, 1],
    });
    expect(await channels().countDocuments({ applicationId: 'app' })).toBe(1);
    await recordings().updateOne({ _id: recordingId }, { $unset: { dueAtMs: '' } });
    expect(await forgetApplication()).toMatchObject({
      channels: [1, 0],
      "contents of Sora's events": [3, 0],
      "recordings' records": [1, 0],
      'events or uploads under way': [0, 0],
    });
    expect((await texts()).sort().reverse()).toEqual(['{}', '{}', '{}', expect.stringContaining(elsewhere)]);
    expect(await channels().countDocuments({ applicationId: 'another' })).toBe(1);
    for (const collection of [events(), channels(), recordings()]) {
      expect(await collection.countDocuments({ applicationId: 'app' })).toBe(0);
    }
    // Repeats and late events of the meeting are stored without their content, and no callback is sent.
    await sora.created(own).send();
    await sora.destroyed(own).send();
    await waitFor('the late event', async () => (await texts()).length === 6);
    expect((await texts()).filter((text) => text === '{}')).toHaveLength(5);
    expect((await world.callbacks()).length).toBe(sent);
    expect(
      Object.values(await forgetApplication())
        .flat()
        .every((count) => count === 0),
    ).toBe(true);
  });

  test('a channel with an unprocessed event is kept, and removed later', async () => {
    await meeting();
    await recordings().deleteMany({});
    const one = (
      await events()
        .find({ channelId }, { sort: { seq: 1 } })
        .toArray()
    )[0];
    await events().updateOne({ _id: one?._id ?? '' }, { $set: { dueAtMs: world.nowMs + 50_000 } });
    expect(await forgetApplication()).toMatchObject({
      channels: [0, 0],
      'events or uploads under way': [0, 1],
    });
    await events().updateOne({ _id: one?._id ?? '' }, { $unset: { dueAtMs: '' } });
    expect(await forgetApplication()).toMatchObject({
      channels: [1, 0],
      "contents of Sora's events": [1, 0],
    });
  });

  test('a channel of thousands of events is removed by many small calls', async () => {
    const expiresAt = new Date(world.nowMs + 1e6);
    await events().insertMany(
      Array.from({ length: 500 }, (_, n) => ({
        ...{ _id: `e${n}`, endpointId: 'one', channelId, applicationId: 'app', seq: n + 1 },
        ...{ arrivedAtMs: 1, body: '{"a":1}', expiresAt },
      })),
    );
    expect(await forgetApplication()).toMatchObject({
      channels: [1, 0],
      "contents of Sora's events": [500, 0],
    });
    expect(await channels().countDocuments({ applicationId: 'app' })).toBe(0);
  });
});

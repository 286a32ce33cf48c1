import { connect } from 'node:net';
import { type SimulatedConnection, SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

import { request } from 'undici';
import { createConnectionStore } from './store/connections.ts';
import type { ChannelDocument, ConnectionDocument } from './store/documents.ts';
import { endpointCounts } from './testing/channels.ts';
import { caller, endpoint, openWorld, type World } from './testing/world.ts';

const secret = 'secret-of-one-0123456789';
const imei = '356938035643809';
const eventStored = 'after store communication.events.insertOne';
let world: World;
let sora: SoraSimulator;
let channelId: string;

beforeEach(async () => {
  world = await openWorld();
  await world.admin.putEndpoint(endpoint('one', { connectionLimit: 3 }));
  channelId = (await world.communication.createChannel({ caller: caller() })).channelId;
  world.associations.set(imei, 'app');
  sora = new SoraSimulator({ endpointId: 'one', secret, webhookUrl: () => world.webhookUrl() });
});
afterEach(() => world.close());

const join = (metadata?: Record<string, unknown>): SimulatedConnection =>
  sora.join(channelId, metadata, world.nowMs - 60_000);

/** Waits for `count` callbacks and until all events are processed. */
async function callbacks(count: number) {
  await waitFor(`${count} callbacks`, async () => (await world.callbacks()).length >= count);
  await settled();
  return world.callbacks();
}
const settled = () =>
  waitFor('every event to be done', async () => {
    const left = await world.store.collection('events').countDocuments({ dueAtMs: { $exists: true } });
    return left === 0;
  });
const taken = async () => (await endpointCounts(world))['one'];

// protects against sora/credentials
test('an event is forwarded completely, without credentials, in the order of the channel', async () => {
  const connection = join({ deviceId: imei });
  const created = sora.created(connection);
  Object.assign(created.body['data'] as object, {
    ...{ authn_metadata: { access_token: 'no' }, metadata: 'no', nested: [{ password: 'no', kept: 1 }] },
  });
  expect(await created.send()).toBe(200);
  expect(await sora.updated(connection, world.nowMs).send()).toBe(200);
  const [first, second] = await callbacks(2);
  expect(first).toEqual({
    id: expect.stringMatching(/^sora-[0-9a-f]{40}$/),
    applicationId: 'app',
    destination: Destination.SORA_EVENT,
    orderKey: `sora-${channelId}`,
    sequence: 1,
    body: {
      applicationId: 'app',
      deviceId: imei,
      timestamp: world.nowMs - 60_000,
      operationId: 'notify-sora-event',
      event: 'connection.created',
      channelId,
      connectionId: connection.connectionId,
      data: {
        created_time: Math.floor((world.nowMs - 60_000) / 1000),
        created_timestamp: new Date(world.nowMs - 60_000).toISOString(),
        ...{ audio: true, audio_codec_type: 'OPUS', video: true, video_codec_type: 'VP9' },
        ...{ channel_connections: 1, total_received_bytes: 0, total_sent_bytes: 0 },
        nested: [{ kept: 1 }],
      },
    },
  });
  expect(Object.keys(first?.body)).toEqual([
    ...[
      'applicationId',
      'deviceId',
      'timestamp',
      'operationId',
      'event',
      'channelId',
      'connectionId',
      'data',
    ],
  ]);
  expect([second?.sequence, second?.body.event]).toEqual([2, 'connection.updated']);
});

test('the events of a channel have one key in the log, so that one partition keeps their order', async () => {
  for (const connection of [join({ deviceId: imei }), join()])
    expect(await sora.created(connection).send()).toBe(200);
  expect((await callbacks(2)).map(({ body }) => body.deviceId)).toEqual([imei, null]);
  const published = await world.log.readNewest(topics.notifications, 10);
  expect(published.map(({ key }) => key)).toEqual([`sora-${channelId}`, `sora-${channelId}`]);
});

// proves cb/3/sora-events
test('all five events are forwarded, no others', async () => {
  const connection = join();
  const { webhooks } = sora.record([connection]);
  const failed = sora.record([connection], { failed: [connection] });
  const hooks = [
    ...[sora.created(connection), sora.updated(connection), ...webhooks, failed.webhooks[0]],
    sora.webhook('spotlight.focused', { channel_id: channelId, connection_id: connection.connectionId }),
    sora.webhook('connection.failed', { channel_id: channelId, connection_id: connection.connectionId }),
    sora.destroyed(connection),
  ];
  for (const hook of hooks) expect(await hook?.send()).toBe(200);
  const sent = await callbacks(5);
  expect(sent.map(({ body }) => body.event)).toEqual([
    ...['connection.created', 'connection.updated', 'archive.available', 'archive.failed'],
    'connection.destroyed',
  ]);
});

// protects against sora/other-device
describe('a device is named only if the connection contains it and the application has activated it', () => {
  test.each([
    ['the application has it', { deviceId: imei }, imei],
    ['another application has it', { deviceId: '356938035643817' }, null],
    ['no application has it', { deviceId: '356938035643825' }, null],
    ['not 15 digits', { deviceId: '35693803564380' }, null],
    ['a number', { deviceId: 356938035643809 }, null],
    ['no metadata', undefined, null],
  ])('%s', async (_, metadata, deviceId) => {
    world.associations.set('356938035643817', 'another');
    await sora.created(join(metadata)).send();
    expect((await callbacks(1))[0]?.body.deviceId).toBe(deviceId);
  });

  test('and the decision is final, whatever happens to the device afterwards', async () => {
    const connection = join({ deviceId: imei });
    await sora.created(connection).send();
    await callbacks(1);
    world.associations.delete(imei);
    await sora.destroyed({ ...connection, metadata: undefined }).send();
    expect((await callbacks(2))[1]?.body.deviceId).toBe(imei);
  });
});

test('an archive’s event waits for earlier failed events of its connection', async () => {
  const connection = join({ deviceId: imei });
  world.devicesFailures = 1;
  await sora.created(connection).send();
  await waitFor('the call to devices', () => world.devicesFailures === 0);
  const { webhooks } = sora.record([connection]);
  await webhooks[0]?.send();
  // The archive's event itself processes the earlier event, before the sweeper is due.
  expect((await callbacks(2)).map(({ body }) => [body.event, body.deviceId])).toEqual([
    ['connection.created', imei],
    ['archive.available', imei],
  ]);
});

// protects against sora/secret
test('a wrong secret, no secret and an unknown endpoint are 401, and nothing is stored', async () => {
  const hook = sora.created(join());
  expect(await hook.send({ secret: 'secret-of-two-0123456789' })).toBe(401);
  expect(await hook.send({ endpointId: 'two' })).toBe(401);
  const bare = await request(`${world.webhookUrl()}/webhooks/sora/one`, { method: 'POST', body: '{}' });
  expect(bare.statusCode).toBe(401);
  expect(await world.store.collection('events').countDocuments({})).toBe(0);
});

// protects against sora/secret-old
test('a rotated secret is valid at once, and the old one no longer', async () => {
  await world.admin.putEndpoint(endpoint('one', { webhookSecret: 'another-secret-0123456789' }));
  expect(await sora.created(join()).send()).toBe(401);
  expect(await sora.created(join()).send({ secret: 'another-secret-0123456789' })).toBe(200);
});

// protects against sora/form
test.each([
  ['another path', 'POST', '/webhooks/sora', '{}', 404],
  ['another method', 'GET', '/webhooks/sora/one', undefined, 405],
  ['no JSON', 'POST', '/webhooks/sora/one', '{', 400],
  ['no event', 'POST', '/webhooks/sora/one', '[]', 400],
  ['no type', 'POST', '/webhooks/sora/one', '{"channel_id":"c"}', 400],
  ['no channel', 'POST', '/webhooks/sora/one', '{"type":"connection.created"}', 400],
  ['too large', 'POST', '/webhooks/sora/one', `"${'a'.repeat(65_535)}"`, 413],
])('%s is rejected: %s %s', async (_, method, path, body, status) => {
  const answer = await request(`${world.webhookUrl()}${path}`, {
    method: method as 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: body ?? null,
  });
  expect(answer.statusCode).toBe(status);
});

// protects against sora/path
test.each(['one%2f', 'one%00', '..%2fone', '__proto__', 'one;two', `${'o'.repeat(100)}`])(
  'the endpoint name %s is invalid, even with a correct secret: nothing is stored',
  async (name) => {
    const answer = await request(`${world.webhookUrl()}/webhooks/sora/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ type: 'connection.created', channel_id: channelId }),
    });
    expect([401, 404]).toContain(answer.statusCode);
    expect(await world.store.collection('events').countDocuments({})).toBe(0);
  },
);

// protects against sora/content
test.each<[string, (event: string) => string | Buffer]>([
  ['__proto__', (event) => `{"__proto__":{"deviceId":"${imei}"},${event}}`],
  ['operators as names', (event) => `{"$where":"1","a.b":{"$ne":null},"":1,${event}}`],
  ['a name twice', (event) => `{"channel_id":"other",${event}}`],
  ['lists 10,000 levels deep', (event) => `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)},${event}}`],
  ['NUL and an unpaired surrogate', (event) => `{"a\\u0000":"\\ud800\\u0000",${event}}`],
  ['a huge number', (event) => `{"created_timestamp":1e999,"minutes":${'9'.repeat(400)},${event}}`],
  ['objects in place of texts', () => '{"type":{"$ne":""},"channel_id":{"$ne":""}}'],
  ['invalid UTF-8', (event) => Buffer.from(`{"x":"\xff\xfe",${event}}`, 'latin1')],
])('a webhook with %s is stored unchanged or rejected, and the next webhook is handled', async (_, make) => {
  const event = `"type":"connection.updated","connection_id":"hostile","channel_id":"${channelId}"`;
  const answer = await request(`${world.webhookUrl()}/webhooks/sora/one`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: make(event),
  });
  expect([200, 400]).toContain(answer.statusCode);
  expect(await sora.created(join()).send()).toBe(200);
  await waitFor('the callback of the next webhook', async () =>
    (await world.callbacks()).some(({ body }) => body['event'] === 'connection.created'),
  );
  await settled();
});

test('a body of exactly the limit is accepted', async () => {
  const event = { type: 'connection.created', channel_id: channelId, pad: '' };
  event.pad = 'a'.repeat(65_536 - JSON.stringify(event).length);
  const answer = await request(`${world.webhookUrl()}/webhooks/sora/one`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify(event),
  });
  expect(answer.statusCode).toBe(200);
});

// protects against sora/other-endpoint
test('an event of an unknown channel, or of another endpoint’s channel, is stored and not forwarded', async () => {
  await world.admin.putEndpoint(endpoint('two'));
  expect(await sora.created({ ...join(), channelId: 'unknown' }).send()).toBe(200);
  const foreign = { endpointId: 'two', secret: 'secret-of-two-0123456789' };
  expect(await sora.created(join()).send(foreign)).toBe(200);
  const events = await world.store.collection('events').find({}).toArray();
  expect(events.map((event) => [event['channelId'], event['applicationId'], event['dueAtMs']])).toEqual([
    ['unknown', '', undefined],
    [channelId, '', undefined],
  ]);
  expect(await world.callbacks()).toEqual([]);
});

// protects against sora/replay
test('repeats of a webhook are one event: recognized by its id, or by its content if it has no id', async () => {
  const hook = sora.created(join());
  const again = sora.updated(join());
  delete again.body['id'];
  const statuses = await Promise.all([hook, hook, hook, again, again].map((one) => one.send()));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  await callbacks(2);
  expect(await hook.send()).toBe(200);
  await settled();
  expect(await world.callbacks()).toHaveLength(2);
});

describe('places', () => {
  test('the first connection takes over the reservation, every other connection takes another place', async () => {
    expect(await taken()).toBe(1);
    const [a, b] = [join(), join()];
    await sora.created(a).send();
    await callbacks(1);
    expect(await taken()).toBe(1);
    await sora.created(b).send();
    await callbacks(2);
    expect(await taken()).toBe(2);
    await world.communication.createChannel({ caller: caller() });
    await expect(world.communication.createChannel({ caller: caller() })).rejects.toMatchObject({
      code: 'unavailable',
    });
    await sora.destroyed(a).send();
    await callbacks(3);
    expect(await taken()).toBe(2);
    await world.communication.createChannel({ caller: caller() });
  });

  test('a connection without further webhooks frees its place; a connection with webhooks keeps it', async () => {
    const [silent, alive] = [join(), join()];
    await sora.created(silent).send();
    await sora.created(alive).send();
    await callbacks(2);
    world.nowMs += 200_000;
    await sora.updated(alive).send();
    await callbacks(3);
    world.nowMs += 100_000;
    expect(await taken()).toBe(1);
    world.nowMs += 200_000;
    expect(await taken()).toBe(0);
  });

  test('a connection whose ’created’ event was lost takes its place with its next event', async () => {
    const connection = join();
    await sora.updated(connection).send();
    await callbacks(1);
    await sora.destroyed(connection).send();
    await callbacks(2);
    expect(await taken()).toBe(0);
  });

  test('a ’destroyed’ event that arrives before ’created’ leaves no place taken', async () => {
    const connection = join();
    await sora.destroyed(connection).send();
    await sora.updated(connection).send();
    await sora.created(connection).send();
    await callbacks(3);
    // The channel's reservation remains, because no connection has taken it over.
    expect(await taken()).toBe(1);
  });

  test('many connections whose events arrive twice and in any order leave no place taken', async () => {
    const connections = Array.from({ length: 20 }, () => join());
    const hooks = connections.flatMap((one) => [sora.created(one), sora.updated(one), sora.destroyed(one)]);
    const shuffled = [...hooks, ...hooks]
      .map((hook, i) => ({ hook, at: (i * 7919) % 120 }))
      .sort((a, b) => a.at - b.at);
    await Promise.all(shuffled.map(({ hook }) => hook.send()));
    await callbacks(60);
    await waitFor('all places to be free', async () => (await taken()) === 0 || (await taken()) === 1);
    const [document] = await world.store.collection('endpoints').find({}).toArray();
    expect(document?.['places'].filter(({ id }: { id: string }) => id.startsWith('c:'))).toEqual([]);
  });
});

describe('usage', () => {
  // The channel was created some time ago, because its connections may have begun since.
  beforeEach(() => {
    world.nowMs += 600_000;
  });

  test('a connection’s time is metered once, for its device', async () => {
    const connection = join({ deviceId: imei });
    await sora.created(connection).send();
    const end = sora.destroyed(connection, world.nowMs);
    await end.send();
    await callbacks(2);
    await end.send();
    await settled();
    expect(await world.usage()).toEqual([
      {
        ...{ usageId: `sora-${connection.connectionId}`, applicationId: 'app', deviceId: imei, kind: 1 },
        ...{ startedAtMs: world.nowMs - 60_000, durationMs: 60_000 },
      },
    ]);
  });

  test.each([
    ['its timestamps', {}, 60_000],
    ['its times in seconds', { created_timestamp: undefined, destroyed_timestamp: undefined }, undefined],
    ['the arrival of its events', { created_timestamp: undefined, created_time: undefined }, 60_000],
  ])('is measured by %s', async (_, changes, durationMs) => {
    const connection = join();
    await sora.created(connection).send();
    const end = sora.destroyed(connection, world.nowMs);
    Object.assign(end.body['data'] as object, changes);
    await end.send();
    await callbacks(2);
    const [usage] = await world.usage();
    expect(usage.deviceId).toBe('');
    if (durationMs !== undefined) expect(usage.durationMs).toBe(durationMs);
    else expect(usage.durationMs % 1000).toBe(0);
  });

  // protects against sora/content
  test.each<[string, object]>([
    ...[1e308, 1e300, 1e18, -1e300].map((time): [string, object] => [
      `times of ${time} s`,
      { created_time: time, destroyed_time: time },
    ]),
    ...[1e308, 1e17, 1e-5].map((minutes): [string, object] => [`${minutes} minutes`, { minutes }]),
  ])('an event with %s is finished at once', async (_, times) => {
    const end = sora.destroyed(join(), world.nowMs);
    const none = { created_timestamp: undefined, destroyed_timestamp: undefined, created_time: undefined };
    Object.assign(end.body['data'] as object, none, times);
    expect(await end.send()).toBe(200);
    await callbacks(1);
  });

  describe('a connection without a ’destroyed’ event', () => {
    const silentMs = 300_000;
    const sample = 'headset_sora_silent_connections_billed_total';
    const billed = async (count: number) => {
      await waitFor('the bill', async () => (await world.metrics(sample)).includes(`${sample} ${count}`));
      return (await world.usage()).map(({ usageId, startedAtMs, durationMs }) => [
        usageId,
        startedAtMs - beganMs,
        durationMs,
      ]);
    };
    let beganMs: number;
    let connection: SimulatedConnection;
    let id: string;
    beforeEach(async () => {
      beganMs = world.nowMs - 60_000;
      connection = join({ deviceId: imei });
      id = `sora-${connection.connectionId}`;
      await sora.created(connection).send();
      await sora.updated(connection, world.nowMs).send();
      await callbacks(2);
    });

    test('is billed until its last event, after it became silent', async () => {
      world.nowMs += silentMs;
      expect(await billed(1)).toEqual([[id, 0, 60_000]]);
      expect((await world.usage())[0]).toMatchObject({ applicationId: 'app', deviceId: imei, kind: 1 });
    });

    test('is billed for the rest when a ’destroyed’ event arrives later', async () => {
      world.nowMs += silentMs;
      await billed(1);
      await sora.destroyed(connection, world.nowMs).send();
      await callbacks(3);
      expect(await billed(1)).toEqual([
        [id, 0, 60_000],
        [`${id}@${beganMs + 60_000}`, 60_000, silentMs],
      ]);
    });

    test('is billed again if it is silent again after more events', async () => {
      world.nowMs += silentMs;
      await billed(1);
      await sora.updated(connection, world.nowMs).send();
      await callbacks(3);
      world.nowMs += silentMs;
      expect(await billed(2)).toEqual([
        [id, 0, 60_000],
        [`${id}@${beganMs + 60_000}`, 60_000, silentMs],
      ]);
    });

    test('is not billed twice if its ’destroyed’ event comes in time', async () => {
      await sora.destroyed(connection, world.nowMs).send();
      await callbacks(3);
      const marker = join({ deviceId: imei });
      await sora.created(marker).send();
      await sora.updated(marker, world.nowMs).send();
      await callbacks(5);
      world.nowMs += silentMs;
      expect((await billed(1)).map(([usageId]) => usageId)).toEqual([id, `sora-${marker.connectionId}`]);
    });

    test('is not billed if its application is forgotten', async () => {
      const channels = world.store.collection<ChannelDocument>('channels');
      await channels.updateMany({}, { $set: { applicationId: '' } });
      world.nowMs += silentMs;
      const connections = world.store.collection<ConnectionDocument>('connections');
      await waitFor(
        'the end of the connection',
        async () => (await connections.findOne({ _id: connection.connectionId }))?.billedToMs !== undefined,
      );
      expect(await world.usage()).toEqual([]);
      expect(await world.metrics(sample)).toContain(`${sample} 0`);
    });

    test('that a killed process had claimed is billed with the same id and time', async () => {
      const store = createConnectionStore(world.store.collection<ConnectionDocument>('connections'), 1e9);
      // Before the service's own sweep finds the silent connection.
      const at = world.nowMs + silentMs;
      const claimed = await store.claimSilent(at, at + 60_000, 10);
      await sora.updated(connection, world.nowMs + 5000).send();
      await callbacks(3);
      expect(claimed).toMatchObject([{ fromMs: beganMs, toMs: beganMs + 60_000, isFirst: true }]);
      world.nowMs += silentMs;
      expect((await billed(1))[0]).toEqual([id, 0, 60_000]);
    });
  });

  // rule A24
  describe('a clock of Sora that is wrong', () => {
    const year = 31_536_000_000;
    const past = { created_timestamp: '1970-01-01T00:00:00Z' };
    const future = () => ({ created_timestamp: new Date(world.nowMs + year).toISOString() });
    const replaced = (time: string, reason: string) =>
      `headset_sora_times_replaced_total{time="${time}",reason="${reason}"} 1`;

    test.each<[string, () => object, string]>([
      ['1970', () => past, 'past'],
      ['a date before the channel', () => ({ created_timestamp: new Date(world.nowMs - year) }), 'past'],
      ['a date to come', future, 'future'],
    ])('%s as start: the minutes are used, and the metric counts', async (_, times, reason) => {
      const end = sora.destroyed(join(), world.nowMs);
      Object.assign(end.body['data'] as object, times(), { minutes: 1 });
      await end.send();
      await callbacks(1);
      expect(await world.usage()).toMatchObject([{ startedAtMs: world.nowMs - 60_000, durationMs: 60_000 }]);
      expect(await world.metrics('headset_sora_times_replaced_total')).toEqual([replaced('created', reason)]);
    });

    test('in all events: the time between their arrivals is billed', async () => {
      const beganMs = world.nowMs;
      const old = sora.join(channelId, undefined, 1000);
      await sora.created(old).send();
      world.nowMs += 60_000;
      await sora.destroyed(old, 61_000).send();
      await callbacks(2);
      expect(await world.usage()).toMatchObject([{ startedAtMs: beganMs, durationMs: 60_000 }]);
    });

    test('ahead as end: the arrival of the event is used', async () => {
      const connection = join();
      await sora.created(connection).send();
      await sora.destroyed(connection, world.nowMs + year).send();
      await callbacks(2);
      expect(await world.usage()).toMatchObject([{ durationMs: 60_000 }]);
    });

    test.each([
      ['Sora is a year ahead', year, 0],
      ['Sora is a year behind', -year, 0],
      ['the cloud’s clock was set back by an hour', 0, -3_600_000],
    ])('%s: the duration by Sora’s clock is billed, up to the arrival', async (_, soraMs, cloudMs) => {
      const connection = sora.join(channelId, undefined, world.nowMs - 30_000 + soraMs);
      const end = sora.destroyed(connection, world.nowMs + soraMs);
      world.nowMs += cloudMs + 5000;
      await end.send();
      await callbacks(1);
      expect(await world.usage()).toMatchObject([{ startedAtMs: world.nowMs - 30_000, durationMs: 30_000 }]);
    });

    test('minutes that began before the creation of the channel are not billed', async () => {
      const end = sora.destroyed(join(), world.nowMs);
      Object.assign(end.body['data'] as object, past, { minutes: 1000 });
      await end.send();
      await callbacks(1);
      expect(await world.usage()).toEqual([]);
      expect(await world.metrics('headset_sora_times_replaced_total')).toContain(replaced('minutes', 'past'));
    });
  });

  test('if only the end is known, it is measured by Sora’s minutes, or not at all', async () => {
    const bare = { created_timestamp: undefined, created_time: undefined };
    const [counted, unknown] = [sora.destroyed(join(), world.nowMs), sora.destroyed(join(), world.nowMs)];
    Object.assign(counted.body['data'] as object, { ...bare, minutes: 3 });
    Object.assign(unknown.body['data'] as object, { ...bare, minutes: undefined });
    await counted.send();
    await unknown.send();
    await callbacks(2);
    expect((await world.usage()).map(({ durationMs }) => durationMs)).toEqual([180_000]);
  });
});

test('work left by an instance with a clock one hour ahead does not wait', async () => {
  world.nowMs += 3_600_000;
  world.cutAt = eventStored;
  await sora.created(join({ deviceId: imei })).send();
  await waitFor('the cut', () => world.cutAt === undefined);
  await world.restart();
  world.nowMs -= 3_600_000;
  await callbacks(1);
});

describe.each([
  eventStored,
  'before log communication.notifications',
  'after log communication.notifications',
])('a crash %s', (cutAt) => {
  test('loses nothing: the event is applied and published, with the same id', async () => {
    const connection = join({ deviceId: imei });
    world.cutAt = cutAt;
    await sora.created(connection).send();
    await waitFor('the cut', () => world.cutAt === undefined);
    await world.restart();
    world.nowMs += 20_000;
    const sent = await callbacks(1);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(sent[0]?.body).toEqual(sent.at(-1)?.body);
    expect(await taken()).toBe(1);
    await sora.destroyed(connection, world.nowMs).send();
    await settled();
    expect(new Set((await world.usage()).map(({ usageId }) => usageId))).toEqual(
      new Set([`sora-${connection.connectionId}`]),
    );
    expect(await taken()).toBe(0);
  });
});

test('an event waits for an earlier event of its channel that another process has not published yet', async () => {
  const connection = join({ deviceId: imei });
  world.cutAt = eventStored;
  await sora.created(connection).send();
  await waitFor('the cut', () => world.cutAt === undefined);
  await world.restart();
  // Before the sweeper runs, which is due seconds later.
  expect(await sora.updated(connection, world.nowMs).send()).toBe(200);
  await waitFor('both callbacks', async () => (await world.callbacks()).length >= 2);
  expect((await world.callbacks()).map(({ body }) => body.event)).toEqual([
    ...['connection.created', 'connection.updated'],
  ]);
});

test('during shutdown webhooks are stored and answered with Connection: close', async () => {
  const send = async () => {
    const answer = await request(`${world.webhookUrl()}/webhooks/sora/one`, { method: 'POST', body: '{}' });
    await answer.body.dump();
    return answer.headers['connection'];
  };
  expect(await send()).toBe('keep-alive');
  world.beginDrain();
  expect(await send()).toBe('close');
  expect(await sora.created(join()).send()).toBe(200);
});

// protects against sora/bodies
test('unfinished large bodies do not block small bodies, and free the memory budget when they end', async () => {
  const post = async (bytes: number) => {
    const answer = await request(`${world.webhookUrl()}/webhooks/sora/one`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: `"${'a'.repeat(bytes - 2)}"`,
    });
    await answer.body.dump();
    return [answer.statusCode, answer.headers['retry-after']];
  };
  const { port } = new URL(world.webhookUrl());
  const head = `POST /webhooks/sora/one HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\ncontent-length: 65536\r\n\r\n"`;
  const silent = Array.from({ length: 512 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
  for (const socket of silent) socket.write(head);
  await waitFor('a refusal', async () => (await post(65_536))[0] === 503);
  expect(await post(65_536)).toEqual([503, '1']);
  // The body is read, and is not an event.
  expect(await post(8192)).toEqual([400, undefined]);
  for (const socket of silent) socket.destroy();
  await waitFor('free memory', async () => (await post(65_536))[0] === 400);
});

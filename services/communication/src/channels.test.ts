import { anotherInstance, endpointCounts } from './testing/channels.ts';
import { caller, endpoint, openWorld, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const create = (soraVersion = '', key?: string) =>
  world.communication.createChannel({ caller: caller(key), soraVersion });

test('a channel is an endpoint of the default version and an id with its creation time', async () => {
  await world.admin.putEndpoint(endpoint('one'));
  const { endpointUrl, channelId } = await create();
  expect(endpointUrl).toBe('wss://one.example.com/signaling');
  expect(channelId).toMatch(new RegExp(`^[A-Za-z0-9]{10}_${world.nowMs}$`));
});

test('without any endpoint a channel is refused as such, not as full', async () => {
  await expect(create()).rejects.toMatchObject({
    code: 'unavailable',
    message: 'No endpoint is registered.',
    retryAfterMs: expect.any(Number),
  });
});

test('200 parallel callers get exactly the free places, evenly, and the rest 503', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 60 }));
  await world.admin.putEndpoint(endpoint('b', { connectionLimit: 60 }));
  await world.admin.putEndpoint(endpoint('c', { connectionLimit: 30 }));
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => create()));
  const made = results.filter((result) => result.status === 'fulfilled');
  const refused = results.filter((result) => result.status === 'rejected');
  expect(made).toHaveLength(150);
  for (const { reason } of refused) {
    expect(reason).toMatchObject({
      code: 'unavailable',
      message: 'Every endpoint of the Sora version 2024.1.0 has reached its connection limit.',
      retryAfterMs: expect.any(Number),
    });
  }
  expect(new Set(made.map(({ value }) => value.channelId)).size).toBe(150);
  expect(await endpointCounts(world)).toEqual({ a: 60, b: 60, c: 30 });
  expect(await world.store.collection('channels').countDocuments({})).toBe(150);
});

test('competing instances never exceed a limit, and lose no place', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 50 }));
  await world.admin.putEndpoint(endpoint('b', { connectionLimit: 50 }));
  const instances = Array.from({ length: 4 }, () => anotherInstance(world));
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) => instances[n % 4]?.(`channel-${n}`)),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
  expect(await endpointCounts(world)).toEqual({ a: 50, b: 50 });
});

test('each channel takes the endpoint with the fewest places taken that has room', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 1 }));
  await world.admin.putEndpoint(endpoint('b', { connectionLimit: 3 }));
  const urls: string[] = [];
  for (let i = 0; i < 4; i += 1) urls.push((await create()).endpointUrl.slice(6, 7));
  expect(urls).toEqual(['a', 'b', 'b', 'b']);
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
});

test('a refused channel stores nothing', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 1 }));
  await create();
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  expect(await endpointCounts(world)).toEqual({ a: 1 });
  expect(await world.store.collection('channels').countDocuments({})).toBe(1);
});

test('a reservation that nobody joins expires', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 1 }));
  await create();
  world.nowMs += 119_999;
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  world.nowMs += 1;
  await expect(create()).resolves.toMatchObject({ endpointUrl: 'wss://a.example.com/signaling' });
  expect(await endpointCounts(world)).toEqual({ a: 1 });
});

test('a reservation of a clock that was an hour ahead holds no place, and is cleared', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 2 }));
  world.nowMs += 3_600_000;
  await create();
  world.nowMs -= 3_600_000;
  expect(await endpointCounts(world)).toEqual({ a: 0 });
  await create();
  await create();
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  expect(await endpointCounts(world)).toEqual({ a: 2 });
  const stored = await world.store.collection<{ _id: string; places: unknown[] }>('endpoints').findOne({});
  expect(stored?.places).toHaveLength(2);
});

test('expired places are given again, exactly, evenly and at once', async () => {
  await world.admin.putEndpoint(endpoint('a', { connectionLimit: 5 }));
  await Promise.all([create(), create(), create()]);
  await world.admin.putEndpoint(endpoint('b', { connectionLimit: 5 }));
  world.nowMs += 60_000;
  await Promise.all([create(), create()]);
  expect(await endpointCounts(world)).toEqual({ a: 3, b: 2 });
  world.nowMs += 60_000;
  // Expired places do not count in the search for the endpoint with the fewest places.
  expect((await create()).endpointUrl).toContain('//a.');
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => create()));
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
  expect(await endpointCounts(world)).toEqual({ a: 5, b: 5 });
});

test('a channel gets the requested version; a version that no endpoint has is refused', async () => {
  await world.admin.putEndpoint(endpoint('old', { soraVersion: '2023.2.0' }));
  await world.admin.putEndpoint(endpoint('new', { soraVersion: '2024.1.0' }));
  expect((await create('2023.2.0')).endpointUrl).toContain('//old.');
  await expect(create('2022.1.0')).rejects.toMatchObject({
    code: 'invalid_body',
    message: '/soraVersion "2022.1.0" is not available.',
  });
});

test('without a default, or with a default that no endpoint has, the newest version is used', async () => {
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  await world.admin.putEndpoint(endpoint('old', { soraVersion: '2023.2.0' }));
  await world.admin.putEndpoint(endpoint('new', { soraVersion: '2024.1.0' }));
  expect((await create()).endpointUrl).toContain('//new.');
  await world.admin.setDefaultVersion({ soraVersion: '2023.2.0' });
  expect((await create()).endpointUrl).toContain('//old.');
  await world.admin.removeEndpoint({ endpointId: 'old' });
  expect((await create()).endpointUrl).toContain('//new.');
});

test('versions are listed newest first, as numbers, each once', async () => {
  for (const [id, soraVersion] of [
    ['a', '2024.9.0'],
    ['b', '2024.10.0'],
    ['c', '2023.1.0'],
    ['d', '2024.9.0'],
  ]) {
    await world.admin.putEndpoint(endpoint(id as string, { soraVersion }));
  }
  await world.admin.setDefaultVersion({ soraVersion: '2024.9.0' });
  const { versions } = await world.communication.listSoraVersions({ applicationId: 'app' });
  expect(versions.map(({ soraVersion, isDefault }) => [soraVersion, isDefault])).toEqual([
    ['2024.10.0', false],
    ['2024.9.0', true],
    ['2023.1.0', false],
  ]);
});

test('an Idempotency-Key makes one channel of repeats', async () => {
  await world.admin.putEndpoint(endpoint('a'));
  const answers = await Promise.all(Array.from({ length: 10 }, () => create('', 'key')));
  expect(new Set(answers.map(({ channelId }) => channelId)).size).toBe(1);
  expect(await endpointCounts(world)).toEqual({ a: 1 });
});

test.each(['after store communication.endpoints.places', 'after store communication.channels'])(
  'a call that crashed %s is completed by its repeat, in one place',
  async (cutAt) => {
    await world.admin.putEndpoint(endpoint('a'));
    await world.admin.putEndpoint(endpoint('b'));
    world.cutAt = cutAt;
    await expect(create('', 'key')).rejects.toThrow();
    await world.restart();
    const { channelId } = await create('', 'key');
    const counts = await endpointCounts(world);
    expect(Object.values(counts).reduce((a, b) => a + b)).toBe(1);
    expect(await world.store.collection('channels').findOne({ _id: channelId as never })).not.toBeNull();
  },
);

test('a removed endpoint gets no more channels, and comes back when it is put again', async () => {
  await world.admin.putEndpoint(endpoint('a'));
  await world.admin.removeEndpoint({ endpointId: 'a' });
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  await world.admin.putEndpoint(endpoint('a', { webhookSecret: '' }));
  await expect(create()).resolves.toBeDefined();
});

describe('operators', () => {
  test('may write the schemes of URLs in capitals', async () => {
    const given = { signalingUrl: 'WSS://a.example.com', archiveUrl: 'HTTPS://a.example.com/' };
    const put = await world.admin.putEndpoint(endpoint('a', given));
    expect(put.endpoint).toMatchObject(given);
  });

  test.each([
    [{ endpointId: '' }, 'endpoint_id'],
    [{ endpointId: 'a/b' }, 'endpoint_id'],
    [{ endpointId: 'a'.repeat(65) }, 'endpoint_id'],
    [{ signalingUrl: 'https://a.example.com' }, 'signaling_url'],
    [{ soraVersion: '' }, 'sora_version'],
    [{ connectionLimit: 0 }, 'connection_limit'],
    [{ connectionLimit: 50_001 }, 'connection_limit'],
    [{ archiveUrl: 'ftp://a' }, 'archive_url'],
    [{ webhookSecret: 'a'.repeat(15) }, 'webhook_secret'],
    [{ webhookSecret: '' }, 'webhook_secret'],
  ])('%j is refused with the rule', async (changes, named) => {
    await expect(world.admin.putEndpoint(endpoint('a', changes))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^${named}`)),
    });
  });

  // protects against operators/secrets-shown
  test('never see a secret again', async () => {
    const put = await world.admin.putEndpoint(endpoint('a', { connectionLimit: 50_000 }));
    await create();
    const { endpoints, defaultVersion } = await world.admin.listEndpoints({});
    expect(put.endpoint?.webhookSecret).toBe('');
    expect(endpoints).toHaveLength(1);
    expect(endpoints[0]).toMatchObject({ endpointId: 'a', webhookSecret: '', taken: 1 });
    expect(defaultVersion).toBe('');
    expect(JSON.stringify(await world.store.collection('endpoints').find({}).toArray())).not.toContain(
      'secret-of',
    );
  });

  test('cannot name an endpoint or version that does not exist', async () => {
    await expect(world.admin.removeEndpoint({ endpointId: 'a' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(world.admin.setDefaultVersion({ soraVersion: '1.0' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(world.admin.listRecordings({ limit: 1001 })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { admin, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { startSora, type TestSora } from './sora.ts';

describeOnStack('channels', () => {
  let tenant: Tenant;
  const open: TestSora[] = [];
  const sora = async (options?: Parameters<typeof startSora>[0]) => {
    const started = await startSora(options);
    open.push(started);
    return started;
  };
  beforeAll(async () => {
    tenant = await createTenant();
    await tenant.call(200, 'PATCH', '', { soraEvent: `${tenant.integrator.origin}/sora` });
  });
  afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));
  afterAll(() => tenant.close());

  const create = (soraVersion?: string, status = 201, headers?: Record<string, string>) =>
    tenant.call(status, 'POST', '/channels', soraVersion === undefined ? {} : { soraVersion }, headers);
  /** Waits for this many callbacks of a channel. */
  const callbacksOf = (channelId: string, count: number) =>
    waitFor(`${count} callbacks of ${channelId}`, () => {
      const ours = tenant.integrator.received.filter((r) => r.body.channelId === channelId);
      return ours.length >= count && ours;
    });

  // proves api/3/channel-request, api/3/channel-response, api/3/channel-id, api/7/channels
  it('a channel is the endpoint’s address and an id with its creation time', async () => {
    const one = await sora();
    const before = Date.now();
    const { body, headers } = await create(one.version);
    expect(body).toEqual({
      endpointUrl: one.signalingUrl,
      channelId: expect.stringMatching(/^[A-Za-z0-9]{10}_\d{13}$/),
    });
    const createdAt = Number(body.channelId.split('_')[1]);
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(createdAt).toBeLessThanOrEqual(Date.now());
    expect(headers).not.toHaveProperty('location');
    expect(await one.taken()).toBe(1);
  });

  // proves api/8/503-channels
  it('200 parallel callers get exactly the available channels, evenly distributed; the others get 503 with a retry time', async () => {
    const one = await sora({ connectionLimit: 75 });
    const other = await sora({ version: one.version, connectionLimit: 75 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => tenant.api.app('POST', '/channels', { soraVersion: one.version })),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(150);
    for (const { status, body, headers } of refused) {
      const message = `Every endpoint of the Sora version ${one.version} has reached its connection limit.`;
      expect([status, body]).toEqual([503, { message }]);
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
    expect([await one.taken(), await other.taken()]).toEqual([75, 75]);
  }, 60_000);

  it('each channel uses the endpoint with the lowest use', async () => {
    const one = await sora({ connectionLimit: 1 });
    const other = await sora({ version: one.version, connectionLimit: 2 });
    for (let i = 0; i < 3; i += 1) await create(one.version);
    expect([await one.taken(), await other.taken()]).toEqual([1, 2]);
    await create(one.version, 503);
  });

  it('repeated calls with an Idempotency-Key create one channel, also concurrent calls', async () => {
    const one = await sora();
    const headers = { 'idempotency-key': one.version };
    const [a, b] = await Promise.all([create(one.version, 201, headers), create(one.version, 201, headers)]);
    const c = await create(one.version, 201, headers);
    expect([b.body, c.body]).toEqual([a.body, a.body]);
    expect(await one.taken()).toBe(1);
  });

  // proves api/6/communication-service
  it('both calls need the scope cws:communication-service, and no other', async () => {
    const one = await sora();
    const allowed = tenant.apiWith('cws:communication-service');
    expect((await allowed.app('POST', '/channels', { soraVersion: one.version })).status).toBe(201);
    expect((await allowed.app('GET', '/sora/versions')).status).toBe(200);
    const others = tenant.apiWith(
      'cws:application:read cws:application:write cws:device:read cws:device:write',
    );
    expect((await others.app('POST', '/channels', { soraVersion: one.version })).status).toBe(403);
    expect((await others.app('GET', '/sora/versions')).status).toBe(403);
    expect(await one.taken()).toBe(1);
  });

  it('an unknown version is an invalid body, and the field is named', async () => {
    const { body, headers } = await create('0.0.0-none', 400);
    expect(body).toEqual({ message: 'Invalid request body' });
    expect(headers['x-error-detail']).toBe('/soraVersion "0.0.0-none" is not available.');
  });

  it('no body equals {}', async () => {
    const one = await sora();
    await admin().communication.setDefaultVersion({ soraVersion: one.version });
    expect((await tenant.call(201, 'POST', '/channels')).body.endpointUrl).toBe(one.signalingUrl);
    expect((await tenant.call(201, 'POST', '/channels', {})).body.endpointUrl).toBe(one.signalingUrl);
  });

  // proves api/3/sora-versions, api/7/sora-versions
  it('versions are listed newest first with the default marked; without a version the default is used', async () => {
    const older = await sora({ version: '9998.9.0' });
    const newer = await sora({ version: '9998.10.0' });
    await admin().communication.setDefaultVersion({ soraVersion: older.version });
    const { body } = await tenant.call(200, 'GET', '/sora/versions');
    const ours = body.soraVersions.filter((one: { soraVersion: string }) =>
      one.soraVersion.startsWith('9998.'),
    );
    expect(ours).toEqual([
      { soraVersion: newer.version, isDefault: false },
      { soraVersion: older.version, isDefault: true },
    ]);
    expect((await create()).body.endpointUrl).toBe(older.signalingUrl);
  });

  // proves cb/3/sora-events, cb/7/destinations
  it('Sora’s events reach soraEvent complete, in order and signed, with the device of the connection', async () => {
    const one = await sora();
    const [device] = tenant.devices;
    const deviceId = device?.deviceId ?? '';
    const headset = tenant.headset();
    headset.connect();
    await tenant.ended(await tenant.activate());
    const { channelId } = (await create(one.version)).body;
    const connection = one.sora.join(channelId, { deviceId });
    const created = one.sora.created(connection);
    Object.assign(created.body['data'] as object, { authn_metadata: { access_token: 'secret' } });
    const recorded = one.sora.record([connection], { failed: [connection] });
    const hooks = [
      ...[created, one.sora.updated(connection), one.sora.record([connection]).webhooks[0]],
      ...[recorded.webhooks[0], one.sora.destroyed(connection)],
    ];
    for (const hook of hooks) expect(await hook?.send()).toBe(200);
    const callbacks = await callbacksOf(channelId, 5);
    expect(callbacks.map(({ body }) => body.event)).toEqual([
      ...['connection.created', 'connection.updated', 'archive.available', 'archive.failed'],
      'connection.destroyed',
    ]);
    expect(callbacks.every(({ verified, path }) => verified && path === '/sora')).toBe(true);
    expect(callbacks[0]?.body).toEqual({
      ...{ applicationId: tenant.applicationId, deviceId, timestamp: connection.createdAtMs },
      ...{ operationId: 'notify-sora-event', event: 'connection.created', channelId },
      connectionId: connection.connectionId,
      data: {
        created_time: Math.floor(connection.createdAtMs / 1000),
        created_timestamp: new Date(connection.createdAtMs).toISOString(),
        ...{ audio: true, audio_codec_type: 'OPUS', video: true, video_codec_type: 'VP9' },
        ...{ channel_connections: 1, total_received_bytes: 0, total_sent_bytes: 0 },
      },
    });
    expect(new Set(callbacks.map(({ body }) => body.deviceId))).toEqual(new Set([deviceId]));
  });

  // protects against sora/other-device
  it('a device of another application is not named', async () => {
    const [one, otherTenant] = [await sora(), await createTenant()];
    const headset = otherTenant.headset();
    headset.connect();
    await otherTenant.ended(await otherTenant.activate());
    const { channelId } = (await create(one.version)).body;
    const deviceId = otherTenant.devices[0]?.deviceId;
    await one.sora.created(one.sora.join(channelId, { deviceId })).send();
    expect((await callbacksOf(channelId, 1))[0]?.body.deviceId).toBeNull();
    await otherTenant.close();
  });

  // protects against sora/secret, sora/replay
  it('a repeated event is one callback; a wrong secret is 401; an unknown channel is not forwarded', async () => {
    const [one, other] = [await sora(), await sora()];
    const { channelId } = (await create(one.version)).body;
    const connection = one.sora.join(channelId);
    const created = one.sora.created(connection);
    expect(await Promise.all([created.send(), created.send(), created.send()])).toEqual([200, 200, 200]);
    expect(await created.send({ secret: 'not-the-right-secret' })).toBe(401);
    expect(await created.send({ endpointId: 'nobody' })).toBe(401);
    // One endpoint cannot change channels of another endpoint.
    expect(await other.sora.destroyed(connection).send()).toBe(200);
    expect(await one.sora.created(one.sora.join('unknown')).send()).toBe(200);
    await one.sora.destroyed(connection).send();
    expect((await callbacksOf(channelId, 2)).map(({ body }) => body.event)).toEqual([
      ...['connection.created', 'connection.destroyed'],
    ]);
    expect(tenant.integrator.received.filter((r) => r.body.channelId === 'unknown')).toEqual([]);
  });

  it('the end of a connection releases its channel, also if it arrives before the beginning', async () => {
    const one = await sora({ connectionLimit: 1 });
    const { channelId } = (await create(one.version)).body;
    const connection = one.sora.join(channelId);
    await one.sora.created(connection).send();
    await callbacksOf(channelId, 1);
    await create(one.version, 503);
    await one.sora.destroyed(connection).send();
    await callbacksOf(channelId, 2);
    const next = (await create(one.version)).body.channelId;
    const reversed = one.sora.join(next);
    await one.sora.destroyed(reversed).send();
    await one.sora.created(reversed).send();
    await callbacksOf(next, 2);
    // Only the channel's reservation is left.
    expect(await one.taken()).toBe(1);
  });
});

import { randomBytes } from 'node:crypto';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import type { Behaviour } from '@headset-cloud/demo/headset/behaviour.ts';
import type { ConnectResponse } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { type Fault, receives, sends } from '../conformance/faults/fault.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const newer = 'The transaction was canceled because there is a new transaction.';
const command = { package: 'com.example.app', launchType: 'activity' };

// by rules A11 and B6
describeOnStack('a transaction that a headset has started when its connection breaks', () => {
  let tenant: Tenant;
  const name = `com.example.r${randomBytes(6).toString('hex')}`;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 7 });
    const apk = await makeApk({
      package: name,
      versionName: '1',
      entries: { 'a.bin': randomBytes(400_000) },
    });
    const asked = await tenant.call(201, 'POST', '/apps', {
      package: name,
      version: '1',
      fileSize: apk.length,
    });
    const headers = { 'content-type': 'application/vnd.android.package-archive' };
    const put = await request(asked.body.urlList[0].uploadUrl, { method: 'PUT', body: apk, headers });
    await put.body.dump();
    await waitFor('the package to be deliverable', async () => {
      const { body } = await tenant.call(200, 'GET', `/apps?package=${name}`);
      return body.appVersions.length === 1;
    });
  });
  afterAll(() => tenant.close());

  const online = async (index: number, behaviour: Partial<Behaviour>, ...faults: Fault[]) => {
    const device = tenant.devices[index];
    const headset = tenant.headset(device, { behaviour }, faults);
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    return headset;
  };
  const put = async (index: number, path: string, body: object): Promise<number> =>
    (await tenant.call(201, 'PUT', `/devices/${tenant.devices[index]?.deviceId}${path}`, body)).body
      .transactionId;
  const update = (index: number) => put(index, '/apps', { package: name, version: '1' });
  const stateOf = (headset: Awaited<ReturnType<typeof online>>, id: number) =>
    headset.journal.held.get(id)?.state;
  const started = (headset: Awaited<ReturnType<typeof online>>, id: number) =>
    waitFor('the start', () => stateOf(headset, id) === 'started');

  it('is canceled only after the headset gave it up: of two updates the older one is not installed', async () => {
    const headset = await online(0, { downloadBytesPerSecond: 50_000 });
    const [first, second] = [await update(0), await update(0)];
    await started(headset, first);
    await started(headset, second);
    headset.disconnect();
    const end = await tenant.ended(first);
    expect(end).toMatchObject({ notificationType: 'processed', result: 'failure', message: newer });
    headset.behaviour.downloadBytesPerSecond = 0;
    expect(await tenant.ended(second)).toMatchObject({ result: 'success', message: 'installed' });
    expect(headset.effects.has(first)).toBe(false);
    expect(headset.effects.has(second)).toBe(true);
    expect(await tenant.status(first)).toBe('canceled');
    // Later reports cause no further callback.
    expect(tenant.callbacks(first).map((c) => c.body['message'])).toEqual([expect.any(String), newer]);
  });

  it('ends by its result if its effect had begun, although a newer one waits', async () => {
    const headset = await online(1, { effectMs: 1500 });
    const first = await put(1, '/commands', command);
    await waitFor('its effect', () => headset.effects.has(first));
    const second = await put(1, '/commands', command);
    await started(headset, second);
    headset.disconnect();
    expect(await tenant.ended(first)).toMatchObject({ result: 'success' });
    expect(await tenant.ended(second)).toMatchObject({ result: 'success' });
    expect(await tenant.status(first)).toBe('processed');
  });

  it('continues on a client that does not support revoke, and its result is sent', async () => {
    const ignoresRevoke = receives('revoke', () => false);
    const saysSo = sends('hello', (hello) => {
      hello.knowsRevoke = false;
    });
    const headset = await online(2, { downloadBytesPerSecond: 200_000 }, ignoresRevoke, saysSo);
    const [first, second] = [await update(2), await update(2)];
    await started(headset, first);
    headset.disconnect();
    expect(await tenant.ended(first)).toMatchObject({ result: 'success', message: 'installed' });
    expect(await tenant.ended(second)).toMatchObject({ result: 'success' });
    expect(headset.effects.has(first)).toBe(true);
  });

  it('is canceled at once by a deactivation, and never takes effect', async () => {
    const headset = await online(3, { downloadBytesPerSecond: 50_000 });
    const id = await update(3);
    await started(headset, id);
    const { body } = await tenant.call(201, 'DELETE', `/devices/${tenant.devices[3]?.deviceId}`);
    expect(await tenant.ended(id)).toMatchObject({
      message: 'The transaction was canceled because it occurred before deactivation.',
    });
    headset.disconnect();
    headset.behaviour.downloadBytesPerSecond = 0;
    expect(await tenant.ended(body.transactionId)).toMatchObject({ result: 'success' });
    expect(stateOf(headset, id)).toBeUndefined();
  });

  // proves api/4/resend-limit, api/8/retry-limit, api/9/retry-limit, cb/8/cancel-retry
  it('is sent again up to the limit, also if the headset keeps it', async () => {
    const device = tenant.devices[4];
    const headset = await online(4, {});
    headset.behaviour.answersOffers = false;
    let offers = 0;
    headset.on('received', ({ body }: ConnectResponse) => {
      if (body.case === 'offer') offers += 1;
    });
    const id = await tenant.command(device);
    await waitFor('the offer', async () => offers === 1 && (await tenant.status(id)) === 'published');
    let sessions = 1;
    while ((await tenant.status(id)) !== 'canceled') {
      const before = headset.sessionEpoch;
      headset.disconnect();
      await waitFor('the next session', () => headset.sessionEpoch > before);
      await waitFor(
        'the offer, or the end',
        async () => offers > sessions || (await tenant.status(id)) === 'canceled',
      );
      sessions += 1;
    }
    expect(await tenant.ended(id)).toMatchObject({
      message: 'The transaction was canceled because the retry limit was exceeded.',
    });
    // The first dispatch, and five repeats.
    expect(offers).toBe(6);
  });

  it('is offered again to a headset that has lost its storage, and ends by that headset’s result', async () => {
    const device = tenant.devices[5];
    const first = await online(5, {});
    first.behaviour.effectMs = 2000;
    const id = await put(5, '/commands', command);
    await started(first, id);
    await first.close();
    const wiped = tenant.headset(device);
    wiped.connect();
    expect(await tenant.ended(id)).toMatchObject({ result: 'success' });
    expect(wiped.effects.has(id)).toBe(true);
    expect(tenant.callbacks(id)).toHaveLength(2);
  });

  it('is canceled on a headset that has lost its storage, if a newer one was created after it', async () => {
    const device = tenant.devices[6];
    const first = await online(6, {});
    first.behaviour.effectMs = 2000;
    const id = await put(6, '/commands', command);
    await started(first, id);
    await first.close();
    const second = await put(6, '/commands', command);
    const wiped = tenant.headset(device);
    wiped.connect();
    expect(await tenant.ended(id)).toMatchObject({ result: 'failure', message: newer });
    expect(await tenant.ended(second)).toMatchObject({ result: 'success' });
    expect([wiped.effects.has(id), wiped.effects.has(second)]).toEqual([false, true]);
  });
});

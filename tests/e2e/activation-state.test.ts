import { endlessPackage } from '@headset-cloud/demo/headset/operations.ts';
import { RawHeadset } from '@headset-cloud/device-link/testing/raw-headset.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import jwt from 'jsonwebtoken';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';

/** Data of an activation belongs to this activation only (rule A7); the cloud determines the network status (rule A21). */
describeOnStack('the state of a headset, as an application sees it', () => {
  let first: Tenant;
  let next: Tenant;
  let device: HeadsetKeyFile;
  const open: RawHeadset[] = [];

  beforeEach(async () => {
    first = await createTenant();
    device = first.devices[0] as HeadsetKeyFile;
    next = await createTenant({ alsoDevices: [device] });
  });
  afterEach(async () => {
    for (const headset of open.splice(0)) headset.close();
    await Promise.all([first.close(), next.close()]);
  });

  /** A headset session with messages written by the test. */
  async function session(activationEpoch: number) {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { sub: device.deviceId, aud: 'headset-cloud/device-link', iat, exp: iat + 120 };
    const token = jwt.sign(claims, device.privateKeyPem, { algorithm: 'ES256', keyid: device.keyId });
    const headset = new RawHeadset(Number(stack.deviceLinkUrl.split(':')[1]), `Bearer ${token}`);
    open.push(headset);
    headset.hello({
      ...{ activationEpoch: BigInt(activationEpoch), languages: ['ja'] },
      apps: [{ package: 'com.example.guide', version: '2.0' }],
    });
    return { headset, welcome: await headset.next('welcome') };
  }
  /** Waits until the application sees the beginning of the session, which then belongs to this application only. */
  const seenOnline = (of: Tenant) =>
    waitFor('the session to be seen', async () => {
      const { network, firmware } = await status(of);
      return network === 'connectivity_online' && firmware !== null;
    });
  let reportId = 0;
  /** Sends a report, and waits until it is durable. */
  async function say(headset: RawHeadset, activationEpoch: number, body: object, more: object = {}) {
    reportId += 1;
    const id = BigInt(reportId);
    const times = { occurredAtMs: BigInt(Date.now()), activationEpoch: BigInt(activationEpoch) };
    headset.send({ case: 'report', value: { reportId: id, ...times, ...more, body: body as never } });
    await waitFor('the acknowledgement', () =>
      headset.received.some((one) => one.case === 'reportAck' && one.value.reportId >= id),
    );
    return reportId;
  }
  const change = (value: object) => ({ case: 'stateChange', value });
  const deactivate = (of: Tenant) => of.call(201, 'DELETE', `/devices/${device.deviceId}`);
  const status = async (of: Tenant) =>
    (await of.call(200, 'GET', `/devices/${device.deviceId}/status`)).body as Record<string, unknown>;
  const shows = (of: Tenant, fields: Record<string, unknown>) =>
    waitFor(`the status ${JSON.stringify(fields)}`, async () => {
      const shown = await status(of);
      return Object.entries(fields).every(([name, value]) => shown[name] === value) && shown;
    });
  const notified = (of: Tenant) => of.integrator.received.map((r) => r.webhookId);

  const everything = {
    ...{ power: 'started', wearing: 'device_wear', charging: 'start_charging', batteryPercentage: 80 },
    location: { latitude: 35.5, longitude: 139.5 },
  };
  const nothing = {
    ...{ power: null, wearing: null, charging: null, batteryPercentage: null, latitude: null },
    ...{ longitude: null, firmware: null, apps: null, lang: null, powerUpdateDate: null },
    ...{ wearingUpdateDate: null, chargingUpdateDate: null, batteryUpdateDate: null },
    locationUpdateDate: null,
  };

  // protects against headsets/other-epoch
  it('an app’s answer belongs to the activation in which the app gave it, whenever it arrives', async () => {
    await first.activate(device);
    const { headset } = await session(1);
    /** Answers the offers up to a transaction, and returns the messages for that transaction. */
    const doneTo = async (last: number, epoch: number) => {
      for (let id = 0n; id < BigInt(last); ) {
        const offer = await waitFor('the next offer', () =>
          headset.received.find((one) => one.case === 'offer' && one.value.transactionId > id),
        );
        id = (offer.value as { transactionId: bigint }).transactionId;
        headset.ready(Number(id));
        await waitFor('its start', () => headset.ids('start').includes(Number(id)));
        await say(headset, epoch, { case: 'result', value: { transactionId: id, success: true } });
      }
    };
    const answer = (transactionId: number, epoch: number, customData: string) =>
      say(headset, epoch, {
        case: 'appAnswer',
        value: { transactionId: BigInt(transactionId), success: true, customData },
      });
    const ids = [await first.command(device), await first.command(device)] as const;
    await doneTo(ids[1], 1);
    for (const id of ids) expect(await first.ended(id)).toMatchObject({ result: 'success' });
    await deactivate(first);
    await next.activate(device);
    await answer(ids[0], 1, 'in time');
    await answer(ids[1], 3, 'seen while the next one has the headset');
    // Reports of a headset are processed in order, and this report is the last one.
    const last = await next.command(device);
    await doneTo(last, 3);
    expect(await next.ended(last)).toMatchObject({ result: 'success' });
    const answers = (of: Tenant, id: number) =>
      of.callbacks(id).flatMap(({ body }) => ('customData' in body ? [body['customData']] : []));
    await waitFor('the answer', () => answers(first, ids[0]).length > 0);
    expect(answers(first, ids[0])).toEqual(['in time']);
    expect(answers(first, ids[1])).toEqual([]);
    expect(JSON.stringify(next.integrator.received.map(({ body }) => body))).not.toContain('in time');
  });

  // protects against callbacks/other-customer
  it('the next application gets nothing from apps of the previous application, which run until the headset applies the change', async () => {
    await first.activate(device);
    const headset = first.headset(device);
    headset.connect();
    const has = (of: Tenant) =>
      waitFor('the activation', () => headset.journal.activation.applicationId === of.applicationId);
    await has(first);
    // An app call that never returns delays everything behind it.
    const endless = await first.command(device, { package: endlessPackage });
    await waitFor('the call', () => headset.effects.has(endless));
    await deactivate(first);
    const activation = await next.activate(device);
    await waitFor('the offer', () => headset.journal.held.get(activation)?.state === 'started');
    expect(headset.journal.activation.applicationId).toBe(first.applicationId);
    const reportAnswer = (customData: string) =>
      headset.report({ case: 'customData', value: { success: true, customData } });
    reportAnswer('of the former application');
    headset.disconnect();
    await has(next);
    reportAnswer('of the next application');
    const bodies = () => JSON.stringify(next.integrator.received.map(({ body }) => body));
    // In the order of the reports (rule A20).
    await waitFor('the callback', () => bodies().includes('of the next application'));
    expect(bodies()).not.toContain('of the former application');
  });

  // protects against rest/former-application
  it('the next application sees no earlier data, whatever arrives late, and then its own data', async () => {
    await first.activate(device);
    const { headset } = await session(1);
    await seenOnline(first);
    await say(headset, 1, change(everything));
    await shows(first, { batteryPercentage: 80, latitude: 35.5 });
    await deactivate(first);
    await next.activate(device);
    const list = async () => (await next.call(200, 'GET', '/devices/status')).body.devices[0];
    expect(await status(next)).toMatchObject({ ...nothing, network: 'connectivity_online' });
    expect(await list()).toEqual(await status(next));
    // First a late report of the previous activation; then a report of the next activation.
    await say(headset, 1, change(everything), { occurredAtMs: BigInt(Date.now() + 60_000) });
    await say(headset, 2, change({ power: 'finished' }));
    await say(headset, 3, change({ batteryPercentage: 7 }));
    const own = await shows(next, { batteryPercentage: 7 });
    expect(own).toMatchObject({
      ...{ ...nothing, batteryPercentage: 7, batteryUpdateDate: expect.any(String) },
    });
    expect(await list()).toEqual(own);
  });

  it('a snapshot shows the current state, and sends no notification', async () => {
    await first.activate(device);
    const { headset } = await session(1);
    await seenOnline(first);
    await deactivate(first);
    await next.activate(device);
    await say(headset, 3, change(everything), { snapshot: true });
    const inventory = { firmwareVersion: '9.003.0', apps: [], languages: ['en'] };
    await say(headset, 3, { case: 'inventory', value: inventory }, { snapshot: true });
    const last = await say(headset, 3, change({ charging: 'stop_charging' }));
    const id = `device-${device.deviceId}-${last}-charging`;
    await waitFor('the change', () => notified(next).includes(id));
    expect(notified(next)).toEqual([id]);
    // The change is published when it is stored.
    expect(await shows(next, { charging: 'stop_charging' })).toMatchObject({
      ...{ power: 'started', wearing: 'device_wear', charging: 'stop_charging', batteryPercentage: 80 },
      ...{ latitude: 35.5, longitude: 139.5, firmware: { version: '9.003.0' }, apps: [], lang: ['en'] },
    });
  });

  it('the next application’s work waits until the headset knows its activation, also if activation and reset were canceled', async () => {
    await first.activate(device);
    const { headset } = await session(1);
    await seenOnline(first);
    await deactivate(first);
    await next.activate(device);
    // Repeats until a cancellation precedes the delivery of the reset. A reset device stays activated.
    const path = `/devices/${device.deviceId}`;
    await waitFor('a canceled reset', async () => {
      const { transactionId } = (await next.call(201, 'PUT', `${path}/reset`)).body;
      const { canceledTransactions } = (await next.call(200, 'DELETE', `${path}/transactions`)).body;
      return canceledTransactions.includes(transactionId);
    });
    const work = await next.command(device);
    await waitFor('the offer', () => headset.ids('offer').includes(work));
    for (const id of headset.ids('offer')) headset.ready(id);
    await waitFor('the end of the session', () => headset.received.some((one) => one.case === 'goAway'));
    expect(headset.ids('start')).not.toContain(work);
    const after = await session(1);
    expect(after.welcome.activation).toMatchObject({ applicationId: next.applicationId });
    // Its hello held nothing, so the transaction is offered again, after other waiting transactions.
    await waitFor('the offer', () => after.headset.ids('offer').includes(work));
    for (const id of after.headset.ids('offer')) after.headset.ready(id);
    await waitFor('the start', () => after.headset.ids('start').includes(work));
  });

  it('the welcome contains the activation; a later welcome contains its cancellation', async () => {
    const clientId = `client-${reportId}-${device.deviceId}`;
    const body = { mimiClientId: clientId, mimiClientSecret: 'hush-hush-hush' };
    const { transactionId } = (await first.call(201, 'POST', `/devices/${device.deviceId}`, body)).body;
    const { headset, welcome } = await session(0);
    expect(welcome.activation).toMatchObject({
      ...{ epoch: 1n, revision: BigInt(transactionId), sinceEpoch: 1n },
      ...{ applicationId: first.applicationId, clientId, clientSecret: 'hush-hush-hush' },
    });
    // The hello counts for the current activation, although the headset did not know it.
    await waitFor('the hello', async () => (await status(first))['firmware'] !== null);
    headset.close();
    await waitFor('the cancellation', async () => {
      const path = `/devices/${device.deviceId}/transactions`;
      return (await first.call(200, 'DELETE', path)).body.canceledTransactions.includes(transactionId);
    });
    const { welcome: after } = await session(1);
    expect(after.activation).toMatchObject({ epoch: 2n, applicationId: '', clientId: '', clientSecret: '' });
  });

  // proves api/3/status-network, api/3/status-dates, cb/3/notify-network-connection-status
  it('the network status follows the sessions, and each change is notified once', async () => {
    await first.activate(device);
    expect(await status(first)).toMatchObject({ network: 'connectivity_offline', networkUpdateDate: null });
    const { headset } = await session(1);
    const date = expect.stringMatching(/^\d{4}-.*Z$/);
    const online = await shows(first, { network: 'connectivity_online' });
    expect(online).toMatchObject({ networkUpdateDate: date });
    // The network status that the headset reports has no effect.
    await say(headset, 1, change({ network: 'connectivity_offline', batteryPercentage: 5 }));
    await shows(first, { batteryPercentage: 5, network: 'connectivity_online' });
    headset.close();
    await shows(first, { network: 'connectivity_offline' });
    await session(1);
    await shows(first, { network: 'connectivity_online' });
    const network = () =>
      first.integrator.received.filter((r) => r.body.operationId === 'notify-network-connection-status');
    await waitFor('the notifications', () => network().length >= 3);
    const id = (epoch: number, word: string) =>
      `device-${device.deviceId}-session-${epoch}-connectivity_${word}`;
    expect(
      network()
        .map((r) => r.webhookId)
        .sort(),
    ).toEqual([id(1, 'offline'), id(1, 'online'), id(2, 'online')]);
    expect(network().find((r) => r.webhookId === id(1, 'offline'))?.body).toEqual({
      ...{ applicationId: first.applicationId, deviceId: device.deviceId, timestamp: expect.any(Number) },
      ...{ operationId: 'notify-network-connection-status', status: 'connectivity_offline' },
    });
  });
});

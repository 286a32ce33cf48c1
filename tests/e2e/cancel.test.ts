import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

describeOnStack('cancelling', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 4 });
  });
  afterAll(() => tenant.close());

  // proves api/4/cancel-waiting, api/4/cancel-together, api/4/canceled, cb/3/canceled
  it('cancels all transactions that wait for an offline headset, and names exactly these', async () => {
    const [device] = tenant.devices;
    const ids = [await tenant.activate(device), await tenant.command(device), await tenant.command(device)];
    const answer = await tenant.call(200, 'DELETE', `/devices/${device?.deviceId}/transactions`);
    expect(answer.body).toEqual({ canceledTransactions: ids });
    for (const id of ids) {
      expect(await tenant.ended(id)).toMatchObject({
        result: 'failure',
        message: 'The transaction was canceled by a cancel request.',
      });
      expect(await tenant.status(id)).toBe('canceled');
    }
    // The activation is canceled too, and therefore undone (ADR 0063).
    await tenant.call(403, 'DELETE', `/devices/${device?.deviceId}/transactions`);
    await tenant.activate(device);
    const headset = tenant.headset(device);
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    const next = await tenant.command(device);
    await tenant.ended(next);
    for (const id of ids) expect(headset.effects.has(id)).toBe(false);
  });

  // proves api/4/cancel-not-reachable
  it('rejects the cancellation of transactions that were dispatched to a reachable headset', async () => {
    const device = tenant.devices[1];
    const headset = tenant.headset(device, { behaviour: { answersOffers: false } });
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    const id = await tenant.activate(device);
    await waitFor('published', async () => (await tenant.status(id)) === 'published');
    expect((await tenant.call(200, 'DELETE', `/devices/${device?.deviceId}/transactions`)).body).toEqual({
      canceledTransactions: [],
    });
  });

  // proves api/4/deactivation-cancels, cb/8/cancel-deactivation
  it('deactivation takes effect at once, cancels unprocessed transactions, and frees the slot', async () => {
    const device = tenant.devices[2];
    const activation = await tenant.activate(device);
    const command = await tenant.command(device);
    const { body } = await tenant.call(201, 'DELETE', `/devices/${device?.deviceId}`);
    for (const id of [activation, command]) {
      expect(await tenant.ended(id)).toMatchObject({
        result: 'failure',
        message: 'The transaction was canceled because it occurred before deactivation.',
      });
    }
    const refused = await tenant.call(403, 'PUT', `/devices/${device?.deviceId}/commands`, {
      package: 'a',
      launchType: 'activity',
    });
    expect(refused.body).toEqual({ message: 'The device is not activated.' });
    expect((await tenant.call(200, 'GET', `/devices/${device?.deviceId}`)).body).toEqual({
      deviceId: device?.deviceId,
      activated: false,
      clientId: null,
      status: 'deactivated',
    });
    const headset = tenant.headset(device);
    headset.connect();
    expect(await tenant.ended(body.transactionId)).toMatchObject({ result: 'success' });
    // After a new activation, commands are not affected by the minimum activation epoch.
    await tenant.activate(device);
    expect(await tenant.ended(await tenant.command(device))).toMatchObject({ result: 'success' });
    expect(headset.effects.has(command)).toBe(false);
  });

  // proves api/4/resend-limit, api/8/retry-limit, api/9/retry-limit, cb/8/cancel-retry
  it('cancels a transaction that is lost in several sessions', async () => {
    const device = tenant.devices[3];
    const headset = tenant.headset(device, { behaviour: { answersOffers: false }, durability: 'none' });
    const id = await tenant.activate(device);
    // Each session gets the offer and forgets it: a new headset without storage each time.
    await headset.close();
    for (let i = 0; i < 7; i++) {
      const forgetful = tenant.headset(device, { behaviour: { answersOffers: false }, durability: 'none' });
      const epoch = new Promise((resolve) => forgetful.once('online', resolve));
      forgetful.connect();
      await epoch;
      await waitFor(
        'the offer or the end',
        async () => forgetful.journal.held.has(id) || (await tenant.status(id)) === 'canceled',
      );
      await forgetful.close();
    }
    expect(await tenant.ended(id)).toMatchObject({
      result: 'failure',
      message: 'The transaction was canceled because the retry limit was exceeded.',
    });
  });
});

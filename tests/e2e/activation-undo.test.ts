import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { admin, createTenant, describeOnStack, stack, type Tenant } from './harness.ts';

const freshClientId = () => `app-${randomBytes(6).toString('hex')}`;

/** A canceled activation is undone (ADR 0063). */
describeOnStack('a canceled activation', () => {
  let tenant: Tenant;
  let device: HeadsetKeyFile;
  let other: HeadsetKeyFile;
  beforeEach(async () => {
    tenant = await createTenant({ devices: 2, activationLimit: 1 });
    [device, other] = tenant.devices as [HeadsetKeyFile, HeadsetKeyFile];
  });
  afterEach(() => tenant.close());

  const path = (of = device) => `/devices/${of.deviceId}`;
  const activate = async (clientId: string, of = device): Promise<number> =>
    (await tenant.call(201, 'POST', path(of), { clientId })).body.transactionId;
  const shown = async () => (await tenant.call(200, 'GET', path())).body;
  const cancel = async () =>
    (await tenant.call(200, 'DELETE', `${path()}/transactions`)).body.canceledTransactions as number[];
  const slots = async () =>
    (await admin().devices.getContract({ applicationId: tenant.applicationId })).contract?.activated;
  const deactivated = () => ({
    ...{ deviceId: device.deviceId, activated: false, clientId: null, status: 'deactivated' },
  });
  const hasTaken = (headset: Headset, clientId: string) =>
    waitFor(`the activation ${clientId}`, () => headset.journal.activation.clientId === clientId);

  it('by request: the answer is sent when device, slot and client id are free', async () => {
    const clientId = freshClientId();
    const id = await activate(clientId);
    expect(await cancel()).toEqual([id]);
    expect(await shown()).toEqual(deactivated());
    expect(await slots()).toBe(0);
    expect((await tenant.call(200, 'GET', '/devices/status')).body).toEqual({ devices: [] });
    await tenant.call(403, 'PUT', `${path()}/commands`, { package: 'a', launchType: 'activity' });
    await activate(clientId, other);
    expect(await tenant.ended(id)).toMatchObject({
      ...{ result: 'failure', message: 'The transaction was canceled by a cancel request.' },
    });
    expect(await shown()).toEqual(deactivated());
    // The list contains only what was requested.
    expect((await tenant.transactions()).map(({ transactionId }) => transactionId)).toHaveLength(2);
  });

  it('leaves a newer activation alone', async () => {
    await activate(freshClientId());
    await cancel();
    const clientId = freshClientId();
    const newer = await activate(clientId);
    const headset = tenant.headset();
    headset.connect();
    expect(await tenant.ended(newer)).toMatchObject({ result: 'success' });
    expect(await shown()).toMatchObject({ activated: true, clientId });
    expect(headset.journal.activation).toMatchObject({ applicationId: tenant.applicationId, clientId });
    expect(await slots()).toBe(1);
  });

  it('that repeated an earlier one restores the earlier one, in the cloud and on the headset', async () => {
    const [former, newer] = [freshClientId(), freshClientId()];
    const stateDir = mkdtempSync(join(stack.dataDir, 'headset-'));
    const headset = tenant.headset(device, { stateDir });
    headset.connect();
    await tenant.ended(await activate(former));
    // The headset learns the newer one from a welcome, but does not start its transaction.
    await headset.close();
    const id = await activate(newer);
    const idle = tenant.headset(device, { stateDir, behaviour: { answersOffers: false } });
    idle.connect();
    await hasTaken(idle, newer);
    await idle.close();
    await waitFor('the cancellation', async () => (await cancel()).includes(id));
    expect(await shown()).toMatchObject({ activated: true, clientId: former });
    expect(await slots()).toBe(1);
    const again = tenant.headset(device, { stateDir });
    again.connect();
    await hasTaken(again, former);
    expect(await tenant.ended(await tenant.command(device))).toMatchObject({ result: 'success' });
  });

  it('by the retry limit: a headset that learned it from a welcome erases it at its next welcome', async () => {
    const clientId = freshClientId();
    const id = await activate(clientId);
    const headset = tenant.headset(device, { behaviour: { answersOffers: false } });
    headset.connect();
    await hasTaken(headset, clientId);
    let command = 0;
    await waitFor('the retry limit', async () => {
      const epoch = headset.sessionEpoch;
      headset.disconnect();
      await waitFor('the next session', () => headset.sessionEpoch > epoch);
      // It was not sent as often, so the retry limit does not reach it.
      if (command === 0) command = await tenant.command(device);
      return (await tenant.status(id)) === 'canceled';
    });
    expect(await tenant.ended(id)).toMatchObject({
      ...{
        result: 'failure',
        message: 'The transaction was canceled because the retry limit was exceeded.',
      },
    });
    expect(await shown()).toEqual(deactivated());
    expect(await slots()).toBe(0);
    expect(await tenant.ended(command)).toMatchObject({
      message: 'The transaction was canceled because it occurred before deactivation.',
    });
    headset.disconnect();
    await waitFor('the erasure', () => headset.journal.activation.applicationId === '');
    expect(headset.effects.has(command)).toBe(false);
    await activate(clientId, other);
  });
});

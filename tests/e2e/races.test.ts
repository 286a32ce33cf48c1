import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { admin, createTenant, describeOnStack, type Tenant } from './harness.ts';

const canceledByRequest = 'The transaction was canceled by a cancel request.';
const beforeDeactivation = 'The transaction was canceled because it occurred before deactivation.';
const command = { package: 'com.example.app', launchType: 'activity' };
/** Resolves when the headset gets the next message of that kind. */
const received = (headset: Headset, kind: string) =>
  new Promise<void>((resolve) => {
    headset.on('received', function look({ body }) {
      if (body.case !== kind) return;
      headset.off('received', look);
      resolve();
    });
  });
/** Repeats a call with its Idempotency-Key while the answer is 503, as integrators do. */
async function untilAnswered(tenant: Tenant, method: string, path: string, body?: object) {
  const key = { 'idempotency-key': randomUUID() };
  for (;;) {
    const answer = await tenant.api.app(method, path, body, key);
    if (answer.status !== 503) return answer;
  }
}
const times = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Provokes the races that part B of docs/rules.md excludes, through the public listeners. */
describeOnStack('races', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 6 });
  });
  afterAll(() => tenant.close());

  it.each([
    ['stays', false],
    ['drops its connection', true],
  ])('cancel against start: one of them wins, never both, when the headset %s', async (_, drops) => {
    const device = tenant.devices[drops ? 1 : 0];
    const headset = tenant.headset(device);
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    // The cancel is sent at each point of the command's way, and before it.
    const points = [
      () => undefined,
      () => received(headset, 'offer'),
      () => received(headset, 'start'),
      () => once(headset, 'effect'),
      () => received(headset, 'reportAck'),
    ];
    for (const round of times(25)) {
      await waitFor('the session', () => headset.sessionEpoch > 0);
      const reached = points[round % points.length]?.();
      const id = await tenant.command(device);
      await reached;
      if (drops) headset.disconnect();
      const { body } = await tenant.call(200, 'DELETE', `/devices/${device?.deviceId}/transactions`);
      const end = await tenant.ended(id);
      const canceled = body.canceledTransactions.includes(id);
      expect(end).toMatchObject(canceled ? { message: canceledByRequest } : { result: 'success' });
      expect(await tenant.status(id)).toBe(canceled ? 'canceled' : 'processed');
      expect(headset.effects.has(id)).toBe(!canceled);
    }
  });

  it('create against coming online: no command remains unprocessed', async () => {
    const device = tenant.devices[2];
    const headset = tenant.headset(device);
    headset.connect();
    await tenant.ended(await tenant.activate(device));
    // The call is made at each point of the way from the end of a session to the next one, and before it.
    const points = [
      () => undefined,
      () => once(headset, 'offline'),
      () => received(headset, 'welcome'),
      () => once(headset, 'online'),
    ];
    for (const round of times(24)) {
      await waitFor('the session', () => headset.sessionEpoch > 0);
      const reached = points[round % points.length]?.();
      headset.stayAway(0);
      await reached;
      expect(await tenant.ended(await tenant.command(device))).toMatchObject({ result: 'success' });
    }
  });

  it('deactivation against a slow create: the deactivation cancels all transactions created before it', async () => {
    const device = tenant.devices[3];
    const path = `/devices/${device?.deviceId}`;
    const created: number[] = [];
    for (const _ of times(10)) {
      created.push(await tenant.activate(device));
      const creates = (count: number) =>
        times(count).map(() => untilAnswered(tenant, 'PUT', `${path}/commands`, command));
      // All calls run at the same time; the deactivation is sent before, between or after the others.
      const before = creates(randomInt(7));
      const deactivating = untilAnswered(tenant, 'DELETE', path);
      const commands = await Promise.all([...before, ...creates(6 - before.length)]);
      const deactivation = await deactivating;
      expect(deactivation.status).toBe(201);
      for (const { status, body } of commands) {
        expect([201, 403]).toContain(status);
        if (status === 201) created.push(body.transactionId);
      }
    }
    // The headset was always offline, so only the deactivations can have ended them.
    for (const id of created) {
      expect(await tenant.ended(id)).toMatchObject({ result: 'failure', message: beforeDeactivation });
      expect(await tenant.status(id)).toBe('canceled');
    }
    const headset = tenant.headset(device);
    headset.connect();
    await tenant.activate(device);
    expect(await tenant.ended(await tenant.command(device))).toMatchObject({ result: 'success' });
    for (const id of created) expect(headset.effects.has(id)).toBe(false);
  });

  it('20 callers of one Idempotency-Key create one transaction, and all get its id', async () => {
    const device = tenant.devices[4];
    const path = `/devices/${device?.deviceId}`;
    const made = new Set<number>();
    for (const [method, to, body] of [
      ['POST', path, { clientId: `app-${randomUUID()}` }],
      ['PUT', `${path}/commands`, command],
      ['DELETE', path, undefined],
    ] as const) {
      const key = { 'idempotency-key': randomUUID() };
      const answers = await Promise.all(times(20).map(() => tenant.call(201, method, to, body, key)));
      const ids = new Set(answers.map((a) => a.body.transactionId as number));
      expect(ids.size).toBe(1);
      for (const id of ids) made.add(id);
    }
    const { body } = await tenant.call(200, 'GET', `/transactions?deviceId=${device?.deviceId}`);
    expect(body.transactions.map((t: { transactionId: number }) => t.transactionId)).toEqual([...made]);
  });

  it('20 callers of one Idempotency-Key cancel once, and all get the same ids', async () => {
    const device = tenant.devices[5];
    const ids = [await tenant.activate(device), await tenant.command(device)];
    const key = { 'idempotency-key': randomUUID() };
    const path = `/devices/${device?.deviceId}/transactions`;
    const answers = await Promise.all(times(20).map(() => tenant.call(200, 'DELETE', path, undefined, key)));
    for (const { body } of answers) expect(body).toEqual({ canceledTransactions: ids });
    for (const id of ids) expect(await tenant.ended(id)).toMatchObject({ message: canceledByRequest });
  });

  it('20 activations for a contract’s last slot: exactly one gets it', async () => {
    const limit = 2;
    const many = await createTenant({ devices: 21, activationLimit: limit });
    try {
      const [first, ...others] = many.devices;
      await many.activate(first);
      const activate = async (deviceId: string) => {
        const body = { clientId: `app-${randomUUID()}` };
        return { deviceId, ...(await many.api.app('POST', `/devices/${deviceId}`, body)) };
      };
      const slots = async () =>
        (await admin().devices.getContract({ applicationId: many.applicationId })).contract?.activated;
      const answers = await Promise.all(others.map((d) => activate(d.deviceId)));
      const [winner, ...more] = answers.filter((a) => a.status === 201);
      expect(more).toEqual([]);
      expect(answers.filter((a) => a.status === 403)).toHaveLength(others.length - 1);
      expect(await slots()).toBe(limit);
      // After the deactivation another device can be activated, and again only one.
      await many.call(201, 'DELETE', `/devices/${winner?.deviceId}`);
      expect(await slots()).toBe(limit - 1);
      const again = await Promise.all(others.map((d) => activate(d.deviceId)));
      expect(again.filter((a) => a.status === 201)).toHaveLength(1);
      expect(await slots()).toBe(limit);
    } finally {
      await many.close();
    }
  });
});

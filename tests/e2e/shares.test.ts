import type { ApiAnswer } from '@headset-cloud/demo/api.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctl } from './ctl.ts';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { instancesWanted } from './instances.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

describeOnStack('limits of one client', () => {
  let tenant: Tenant;
  let other: Tenant;
  beforeAll(async () => {
    tenant = await createTenant();
    other = await createTenant();
    await tenant.activate();
    await other.activate();
  });
  afterAll(() => Promise.all([tenant.close(), other.close()]));

  const limit = (options: string) =>
    ctl(...`contracts put ${tenant.applicationId} --limit 10 ${options}`.split(' '));
  const status = async (of: Tenant) => (await of.api.app('GET', '')).status;
  /** Waits until the gateways have read the contract's change. */
  const until = (wanted: number) =>
    waitFor(`a call to be answered ${wanted}`, async () => (await status(tenant)) === wanted);

  // protects against rest/call-flood
  test('a contract sets the rate of its client; other clients are not affected, and defaults can be restored', async () => {
    expect((await limit('--calls-per-second 1 --calls-burst 1')).exitCode).toBe(0);
    await until(429);
    const refused = await waitFor('most of ten calls at once to be refused', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.api.app('GET', '')));
      const found = answers.filter((one) => one.status === 429);
      return found.length >= 5 && found;
    });
    expect(refused[0]?.body).toEqual({ message: 'Too many calls: at most 1 a second.' });
    expect(refused[0]?.headers).toMatchObject({ 'ratelimit-policy': '"calls";q=1;w=1' });
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(await Promise.all(Array.from({ length: 10 }, () => status(other)))).toEqual(Array(10).fill(200));
    expect((await limit('--default-limits')).exitCode).toBe(0);
    await until(200);
    await waitFor('ten calls at once to be answered', async () => {
      const all = await Promise.all(Array.from({ length: 10 }, () => status(tenant)));
      return all.every((one) => one === 200);
    });
  });

  // protects against rest/call-flood
  test('a call beyond a device’s rate of changes is rejected; nothing is created', async () => {
    expect((await limit('--device-changes-per-second 1')).exitCode).toBe(0);
    const device = tenant.devices[0]?.deviceId ?? '';
    const command = () =>
      tenant.api.app('PUT', `/devices/${device}/commands`, { package: 'a', launchType: 'activity' });
    await waitFor('a command to be refused', async () => (await command()).status === 429);
    const refused = await waitFor('most of eight commands at once to be refused', async () => {
      const before = (await tenant.transactions()).length;
      const answers = await Promise.all(Array.from({ length: 8 }, command));
      const made = answers.filter((one) => one.status === 201).length;
      const found = answers.filter((one) => one.status === 429);
      expect(made + found.length).toBe(8);
      expect((await tenant.transactions()).length).toBe(before + made);
      return found.length >= 4 && found;
    });
    expect(refused[0]?.headers['ratelimit-policy']).toBe('"device-changes";q=1;w=1');
    await limit('--default-limits');
  });

  // protects against rest/device-flood
  test('a device has no more unprocessed transactions than its contract allows, until some have ended', async () => {
    const device = other.devices[0]?.deviceId ?? '';
    const put = `contracts put ${other.applicationId} --limit 10 --device-unprocessed 20`;
    expect((await ctl(...put.split(' '))).exitCode).toBe(0);
    const command = () =>
      other.api.app('PUT', `/devices/${device}/commands`, { package: 'a', launchType: 'activity' });
    const unprocessed = async () =>
      (await other.call(200, 'GET', '/transactions?completionStatus=uncompleted&perPage=100&page=1')).body
        .transactions.length;
    await waitFor('a command to be refused', async () => (await command()).status === 429, { intervalMs: 1 });
    const full = await unprocessed();
    const answers = await Promise.all(Array.from({ length: 40 }, command));
    expect(answers.filter((one) => one.status === 201)).toEqual([]);
    expect(answers[0]?.body.message).toBe('Too many unprocessed transactions of this device: at most 20.');
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"device-unprocessed";q=20');
    expect(await unprocessed()).toBe(full);
    await other.call(200, 'DELETE', `/devices/${device}/transactions`);
    // The activation was among them, so it is undone (ADR 0063).
    const body = { clientId: `app-${device}` };
    const activate = async () => (await other.api.app('POST', `/devices/${device}`, body)).status;
    await waitFor('the device to be activated again', async () => (await activate()) === 201);
    await waitFor('a command to be accepted again', async () => (await command()).status === 201);
    // Another instance may reject for a moment, because it read the number before the cancellation; a single one
    // never does.
    const alone = stack.kind === 'embedded' || instancesWanted() === 1;
    const fullAgain = async () => (await command()).status === 429 && (alone || (await unprocessed()) >= 20);
    await waitFor('the device to reach its limit again', fullAgain, { intervalMs: 1 });
    expect(await unprocessed()).toBe(20);
  });

  // protects against files/upload-flood
  test('a version with 20 requested uploads gets no 21st, and others are not affected', async () => {
    const asked = (of: Tenant, name: string) =>
      of.api.app('POST', '/apps', { package: name, version: '1.0.0', fileSize: 10 });
    const name = `com.example.shares${Date.now()}`;
    const answers: ApiAnswer[] = [];
    for (let i = 0; i < 21; i++) answers.push(await asked(tenant, name));
    expect(answers.map((one) => one.status)).toEqual([...Array(20).fill(201), 429]);
    expect(answers[20]?.body).toEqual({ message: 'Too many uploads of this version are open: at most 20.' });
    expect(answers[20]?.headers['ratelimit-policy']).toBe('"open-uploads";q=20');
    expect(Number(answers[20]?.headers['retry-after'])).toBeGreaterThan(3000);
    expect((await asked(tenant, `${name}a`)).status).toBe(201);
    expect((await asked(other, `${name}b`)).status).toBe(201);
  });

  test('a limit of zero is rejected by the name of its option', async () => {
    const answer = await limit('--calls-per-second 0');
    expect(answer.exitCode).toBe(2);
    expect(answer.err).toContain('--calls-per-second');
  });
});

/** Calls that a client may make at once. */
const burst = 60;

describeOnStack('limits of one client at several gateways', () => {
  let platform: OwnPlatform;
  beforeAll(async () => {
    platform = await openOwnPlatform({
      env: { LIMIT_CALLS_PER_SECOND: '1', LIMIT_CALLS_BURST: String(burst) },
      ...(stack.kind === 'real' && { gateways: 4 }),
    });
  });
  afterAll(() => platform.close());

  test('all gateways together admit one burst, not one burst each', async () => {
    const { gatewayAddresses } = platform.stack;
    expect(gatewayAddresses).toHaveLength(stack.kind === 'real' ? 4 : 1);
    const token = await platform.api.token();
    const call = async (address: string) => {
      const answer = await fetch(`http://${address}/v1/devices/${platform.deviceId}/hardware-properties`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    const statuses: number[] = [];
    for (let i = 0; i < burst; i++) {
      statuses.push(await call(gatewayAddresses[i % gatewayAddresses.length] as string));
    }
    expect(statuses).toEqual(Array(burst).fill(200));
    // Each gateway admitted a part only: it rejects because the others reported their calls.
    let more = 0;
    for (const address of gatewayAddresses) {
      const refuses = async () => {
        const status = await call(address);
        if (status === 200) more++;
        return status === 429;
      };
      await waitFor(`${address} to refuse a call`, refuses, { intervalMs: 100 });
    }
    expect(more).toBeLessThan(burst / 2);
  });
});

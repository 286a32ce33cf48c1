import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';
import { keyIdOf } from '@headset-cloud/runtime/secrets.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { ctlWith } from './ctl.ts';
import { describeOnStack, stack as suiteStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';
import type { Receiver } from './receiver.ts';

/** The processes that seal, in the order of the change; one process of devices stays, so that reads continue. */
const waves: readonly (readonly string[])[] = suiteStack.oneProcess
  ? [['platform']]
  : [['devices'], ['devices-2', 'transactions', 'updates', 'communication']];
const one = waves[0]?.[0] ?? '';
const next = randomBytes(32).toString('hex');

// docs/operations/rotate.md; ADR 0039
describeOnStack('a change of SECRET_KEY', () => {
  let own: OwnPlatform;
  let former: string;
  let headset: Headset;
  let receiver: Receiver;
  let authenticationKey: string;
  /** Results of an integrator's continuous reads: every key, and every status other than 200 and 503. */
  const read = { keys: new Set<string>(), answers: 0, unexpected: [] as number[], done: false };
  let reader: Promise<unknown>;

  beforeAll(async () => {
    own = await openOwnPlatform({ instances: { devices: 2 } });
    former = readFileSync(join(own.stack.dataDir, 'secret.key'), 'utf8').trim();
    receiver = await own.receiver(() => 204);
    authenticationKey = (await own.call(200, 'GET', '')).body.authenticationKey;
    headset = own.headset();
    headset.connect();
    // About fifty times a second: without a pause the reads would slow down the platform.
    const pace = { intervalMs: 20, timeoutMs: Number.POSITIVE_INFINITY };
    reader = waitFor('the end of the tests', async () => read.done || (await readKey()), pace);
  }, 120_000);
  afterAll(async () => {
    read.done = true;
    await reader;
    await own?.close();
  });

  async function readKey(): Promise<false> {
    try {
      const { status, body } = await own.api.app('GET', '');
      read.answers += 1;
      if (status === 200) read.keys.add(body.authenticationKey);
      else if (status !== 503) read.unexpected.push(status);
    } catch (error) {
      // A platform in one process is unavailable while it starts.
      if (!suiteStack.oneProcess) throw error;
    }
    return false;
  }

  const start = (name: string, SECRET_KEY: string, ...others: string[]) =>
    own.stack.processes[name]?.start({
      SECRET_KEY,
      ...(others.length > 0 && { SECRET_KEY_OTHERS: others.join('\n') }),
    });
  async function roll(secret: string, ...others: string[]): Promise<void> {
    for (const names of waves) {
      await Promise.all(names.map((name) => own.stack.processes[name]?.stop()));
      for (const name of names) start(name, secret, ...others);
      await own.stack.ready(60_000, names);
    }
  }
  const listeners = () => ({
    DEVICES_ADMIN: own.stack.admin.devices,
    TRANSACTIONS_ADMIN: own.stack.admin.transactions,
    UPDATES_ADMIN: own.stack.admin.updates,
    COMMUNICATION_ADMIN: own.stack.admin.communication,
    BILLING_ADMIN: own.stack.admin.billing,
    OPERATOR: 'Kim',
  });
  const ctl = (...args: string[]) => ctlWith(listeners(), 'secrets', ...args);
  /** Sends a command and verifies its callbacks with the integrator's key. */
  async function commandIsVerified(): Promise<void> {
    let id = 0;
    await waitFor('the command to be accepted', async () => {
      const answer = await own.api
        .app('PUT', `/devices/${own.deviceId}/commands`, {
          package: 'com.example.app',
          launchType: 'activity',
        })
        .catch(() => undefined);
      id = answer?.status === 201 ? answer.body.transactionId : 0;
      return id > 0;
    });
    const of = () => receiver.arrivals.filter(({ body }) => body.transactionId === id);
    await waitFor('its end', () => of().some(({ body }) => body.notificationType === 'processed'));
    for (const { headers, bytes } of of()) {
      expect(verifyCallback({ headers, rawBody: bytes }, [authenticationKey])).toBe(true);
    }
  }

  it('continues while every process gets the next key, and then seals with it', async () => {
    await roll(former, next);
    await commandIsVerified();
    await roll(next, former);
    await commandIsVerified();
    const { exitCode, out } = await ctl('status');
    expect(exitCode).toBe(0);
    expect(out).toMatch(new RegExp(`${keyIdOf(next)} +seals +.*devices`));
    expect(out).toMatch(new RegExp(`${keyIdOf(former)} +opens only +.*devices`));
    expect(out).toMatch(new RegExp(`\nauthentication keys +${keyIdOf(former)} +1\n`));
    const each = (await ctl('status', '--services')).out;
    expect(each).toMatch(new RegExp(`devices +authentication keys +${keyIdOf(former)} +1\n`));
  }, 180_000);

  it('a process without the previous key is not ready before everything is re-encrypted, and names the key', async () => {
    await own.stack.processes[one]?.stop();
    start(one, next);
    await waitFor('the reason', async () => {
      try {
        return (await (await request(`${own.stack.adminUrls[one]}/readyz`)).body.text()).includes(
          `key ${keyIdOf(former)} is neither SECRET_KEY nor in SECRET_KEY_OTHERS`,
        );
      } catch {
        return false;
      }
    });
    expect(own.stack.processes[one]?.log()).toContain(keyIdOf(former));
    await own.stack.processes[one]?.stop();
    start(one, next, former);
    await own.stack.ready(60_000, [one]);
  }, 90_000);

  it('ctl re-encrypts everything, also if a process is killed meanwhile, and then the previous key is removed', async () => {
    const interrupted = ctl('reseal');
    await own.stack.processes[one]?.kill();
    await interrupted;
    start(one, next, former);
    await own.stack.ready(60_000, [one]);
    await commandIsVerified();

    const moved = await ctl('reseal');
    expect([moved.exitCode, moved.err]).toEqual([0, expect.stringMatching(/\d+ values moved\.\n$/)]);
    expect(moved.out).toMatch(new RegExp(`${keyIdOf(former)} +opens only +-\n`));
    expect(moved.out).toMatch(new RegExp(`\nauthentication keys +${keyIdOf(next)} +1\n`));
    expect(moved.out).not.toMatch(new RegExp(`${keyIdOf(former)} +\\d+\n`));

    await roll(next);
    await commandIsVerified();
    const { exitCode, out } = await ctl('status');
    expect(exitCode).toBe(0);
    expect(out).not.toContain(keyIdOf(former));
  }, 180_000);

  // ADR 0044
  it('the audit records name the operator, the values and the key', async () => {
    const recorded = async () => {
      const { exitCode, out } = await ctlWith(listeners(), '--json', 'audit', 'list', '--actor', 'Kim');
      return exitCode === 0 ? (JSON.parse(out).records as { action: string; target: string }[]) : [];
    };
    const target = `devices/authentication keys/${keyIdOf(next)}`;
    const record = await waitFor('the record', async () =>
      (await recorded()).find((one) => one.action.endsWith('LookThroughSecrets') && one.target === target),
    );
    expect(record).toMatchObject({ fields: ['sealing key'], actor: { operator: 'Kim' } });
    // The command forgot the previous key at its end.
    await waitFor('the record', async () =>
      (await recorded()).some(
        (one) => one.action.endsWith('ForgetSecretKey') && one.target === `devices/${keyIdOf(former)}`,
      ),
    );
  });

  it('the integrator could always read its key, and no log has a secret', () => {
    expect(read.answers).toBeGreaterThan(10);
    expect(read.unexpected).toEqual([]);
    expect([...read.keys]).toEqual([authenticationKey]);
    for (const [name, process] of Object.entries(own.stack.processes)) {
      const log = process.log();
      for (const secret of [former, next, authenticationKey])
        expect([name, log.includes(secret)]).toEqual([name, false]);
    }
  });
});

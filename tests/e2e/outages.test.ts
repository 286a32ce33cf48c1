import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { createAdmin, provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { whyNoS3 } from '@headset-cloud/demo/stack/s3.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { kafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { request } from 'undici';
import { ctlWith } from './ctl.ts';
import { describeOnStack, imei, stack as suiteStack } from './harness.ts';

const client = { clientId: 'outage', clientSecret: randomBytes(24).toString('hex') };

// proves api/8/500-database
describeOnStack('outages behind the platform', () => {
  // There is nothing behind the embedded stack, and servers given by an address must not be killed.
  const killable = suiteStack.kind === 'real' && !process.env['MONGODB_URI'] && !process.env['KAFKA_BROKERS'];
  const itWhereKillable = killable ? it : it.skip;
  let folder: string;
  let stack: Stack;
  let integrator: IntegratorServer;
  let headset: Headset;
  let api: ApiClient;
  let deviceId: string;

  beforeAll(async () => {
    if (!killable) return;
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-outage-'));
    integrator = await startIntegrator();
    stack = await startStack({
      kind: 'real',
      dataDir: folder,
      clients: [client],
      env: { TRANSACTIONS_LEFTOVER_AFTER_MS: '1000', NOTIFIER_LEASE_MS: '2000' },
    });
    const admin = createAdmin(stack.admin);
    const identity = await provisionDevice(admin, imei());
    deviceId = identity.deviceId;
    const applicationId = await provisionApplication(admin, {
      ...{ developerId: 'outage', clientIds: [client.clientId], name: 'outage', activationLimit: 1 },
      deviceIds: [deviceId],
    });
    api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
    await api.app('PATCH', '', { deviceEvent: integrator.url });
    integrator.keys.push((await api.app('POST', '/refresh_authkey')).body.authenticationKey);
    headset = new Headset({
      identity,
      server: stack.deviceLinkUrl,
      backoff: { firstMs: 50, maxMs: 500 },
    });
    headset.connect();
    const activation = await api.app('POST', `/devices/${deviceId}`, { clientId: 'outage' });
    await ended(activation.body.transactionId);
  }, 120_000);
  afterAll(async () => {
    await headset?.close();
    await api?.close();
    await stack?.stop();
    await integrator?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const command = () =>
    api.app('PUT', `/devices/${deviceId}/commands`, { package: 'a', launchType: 'activity' });
  const ended = (id: number) =>
    waitFor(
      `the end of ${id}`,
      () =>
        integrator.received.find(
          (r) => r.body.transactionId === id && r.body.notificationType === 'processed',
        ),
      { timeoutMs: 45_000 },
    );
  const listed = async () =>
    (await api.app('GET', '/transactions?perPage=100&page=1')).body.transactions.map(
      (t: { transactionId: number }) => t.transactionId,
    );

  /** Number of custom data reports that devices has published as notifications. */
  const customDataPublished = async () => {
    const answer = await request(`${stack.admin.devices}/metrics`);
    const line = /^headset_device_reports_total\{[^}]*kind="customData"[^}]*\} (\d+)/m;
    return Number(line.exec(await answer.body.text())?.[1] ?? 0);
  };
  const deadLetters = async () => {
    const { transactions, devices, notifier, billing, connectivity } = stack.admin;
    const listeners = {
      TRANSACTIONS_ADMIN: transactions,
      DEVICES_ADMIN: devices,
      NOTIFIER_ADMIN: notifier,
      BILLING_ADMIN: billing,
      CONNECTIVITY_ADMIN: connectivity,
    };
    const run = await ctlWith(listeners, '--json', 'dead-letters', 'list');
    expect(run).toMatchObject({ exitCode: 0, err: '' });
    return JSON.parse(run.out).deadLetters ?? [];
  };

  itWhereKillable(
    'answers 500 with Retry-After while MongoDB is unavailable, stores nothing, and recovers without a restart',
    async () => {
      const before = await listed();
      const pids = Object.values(stack.processes).map((p) => p.pid);
      await stack.backing?.mongo?.kill();
      // A call that reaches its deadline before MongoDB's error is answered 503; no call is accepted.
      const refused = await waitFor('a 500', async () => {
        const answer = await command();
        expect([500, 503]).toContain(answer.status);
        return answer.status === 500 && answer;
      });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.body).toEqual({ message: expect.any(String) });
      const ready = await request(`${stack.admin.devices}/readyz`);
      expect(await ready.body.text()).toContain('MongoDB');
      const metrics = await (await request(`${stack.admin.devices}/metrics`)).body.text();
      expect(metrics).toMatch(/^headset_ready\{.*\} 0$/m);
      const live = await request(`${stack.admin.devices}/livez`);
      await live.body.dump();
      expect(live.statusCode).toBe(200);
      await stack.backing?.mongo?.restart();
      const accepted = await waitFor(
        'a 201',
        async () => {
          const answer = await command();
          return answer.status === 201 && answer;
        },
        { intervalMs: 200 },
      );
      await ended(accepted.body.transactionId);
      expect(await listed()).toEqual([...before, accepted.body.transactionId]);
      expect(Object.values(stack.processes).map((p) => p.pid)).toEqual(pids);
    },
    90_000,
  );

  // A process with all services publishes nothing while it is paused.
  (suiteStack.oneProcess ? it.skip : itWhereKillable)(
    'handles the events waiting in Kafka after any outage of MongoDB',
    async () => {
      const notifier = stack.processes['notifier'];
      const tries = () => (notifier?.log().match(/events could not be handled/g) ?? []).length;
      const triedBefore = tries();
      const before = await customDataPublished();
      notifier?.signal('SIGSTOP');
      headset.report({ case: 'customData', value: { customData: 'late' } });
      await waitFor('the notification in Kafka', async () => (await customDataPublished()) > before);
      await stack.backing?.mongo?.kill();
      notifier?.signal('SIGCONT');
      // More tries than for an error that a retry cannot fix.
      await waitFor('the notifier’s tries', () => tries() >= triedBefore + 6);
      await stack.backing?.mongo?.restart();
      await waitFor('the notification', () => integrator.received.some((r) => r.body.customData === 'late'));
      expect(await deadLetters()).toEqual([]);
    },
    90_000,
  );

  itWhereKillable(
    'stores a poison event as a dead letter, shows it to the operator, and continues with the rest',
    async () => {
      const kafka = new Kafka({
        clientId: 'poison',
        brokers: (stack.backing?.kafkaBrokers ?? '').split(','),
        logLevel: logLevel.NOTHING,
      });
      const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
      await producer.connect();
      // The same key as the device's own reports: later events must not be blocked.
      const value = Buffer.from('not a protobuf message');
      const kafkaName = kafkaNames(stack.backing?.kafkaPrefix).topic;
      for (const topic of [topics.transactionReports, topics.deviceReports]) {
        await producer.send({ topic: kafkaName(topic), messages: [{ key: deviceId, value }] });
      }
      await producer.disconnect();
      await ended((await command()).body.transactionId);
      const dead = await waitFor('every group to give it up', async () => {
        const found = await deadLetters();
        return found.length >= 2 && found;
      });
      const names = (d: { group: string; topic: string; key: string }) => `${d.group} ${d.topic} ${d.key}`;
      expect(dead.map(names).sort()).toEqual([
        `devices ${topics.deviceReports} ${deviceId}`,
        `transactions ${topics.transactionReports} ${deviceId}`,
      ]);
    },
    60_000,
  );

  itWhereKillable(
    'a service that starts while MongoDB and Kafka are unavailable waits for them, and then becomes ready',
    async () => {
      const billing = stack.processes['billing'] ?? stack.processes['platform'];
      const readyz = async () => {
        const answer = await request(`${stack.admin.billing}/readyz`);
        return { status: answer.statusCode, text: await answer.body.text() };
      };
      await billing?.stop();
      await stack.backing?.mongo?.kill();
      await stack.backing?.kafka?.kill();
      billing?.start();
      const month = `/billing?year=${new Date().getUTCFullYear()}&month=1`;
      await waitFor('it to wait', async () =>
        (await readyz().catch(() => undefined))?.text.includes('starting: waits for the database'),
      );
      await stack.backing?.mongo?.restart();
      // Every call needs MongoDB first, so a later rejection comes from the service.
      const refused = await waitFor('the gateway to reach it', async () => {
        const answer = await api.app('GET', month);
        return answer.status === 503 && answer;
      });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      await stack.backing?.kafka?.restart();
      await waitFor('it to be ready', async () => (await readyz()).status === 200, { timeoutMs: 60_000 });
      expect((await api.app('GET', month)).status).toBe(200);
      expect(billing?.running).toBe(true);
    },
    120_000,
  );

  itWhereKillable(
    'continues accepting while Kafka is unavailable, and delivers everything afterwards',
    async () => {
      await stack.backing?.kafka?.kill();
      const ids: number[] = [];
      for (let i = 0; i < 3; i++) {
        const answer = await command();
        expect(answer.status).toBe(201);
        ids.push(answer.body.transactionId);
      }
      const metrics = async (url: string) => (await request(`${url}/metrics`)).body.text();
      // Calls do not need Kafka, so no process may become unready (ADR 0056); operators see a warning.
      await waitFor(
        'the warning of each service that uses it',
        async () => {
          const texts = await Promise.all(
            [stack.admin.devices, stack.admin.transactions, stack.admin.notifier, stack.admin.billing].map(
              metrics,
            ),
          );
          return texts.every((text) =>
            /^headset_warnings\{warning="kafka_unavailable",.*\} [1-9]/m.test(text),
          );
        },
        { intervalMs: 500 },
      );
      for (const url of Object.values(stack.adminUrls)) {
        expect(await metrics(url)).toMatch(/^headset_ready\{.*\} 1$/m);
        expect((await request(`${url}/readyz`)).statusCode).toBe(200);
      }
      const late = await command();
      expect(late.status).toBe(201);
      ids.push(late.body.transactionId);
      await stack.backing?.kafka?.restart();
      for (const id of ids) expect((await ended(id)).verified).toBe(true);
    },
    120_000,
  );

  (killable && !whyNoS3() && !process.env['S3_ENDPOINT'] ? it : it.skip)(
    'answers 503 with Retry-After to uploads while S3 is unavailable, stays ready, and running downloads resume',
    async () => {
      const name = 'com.example.outage';
      const apk = await makeApk({ package: name, entries: { 'a.bin': randomBytes(3_000_000) } });
      const ask = (version: string) =>
        api.app('POST', '/apps', { package: name, version, fileSize: apk.length });
      const { urlList } = (await ask('1.0.0')).body;
      const put = await request(urlList[0].uploadUrl, {
        method: 'PUT',
        headers: { 'content-type': 'application/vnd.android.package-archive' },
        body: apk,
      });
      await put.body.dump();
      const update = () => api.app('PUT', `/devices/${deviceId}/apps`, { package: name, version: '1.0.0' });
      Object.assign(headset.behaviour, { downloadBytesPerSecond: 1_000_000, downloadRetryMs: 100 });
      const started = await waitFor('the package to be deliverable', async () => {
        const answer = await update();
        return answer.status === 201 && answer;
      });
      const loading = (await update()).body.transactionId;
      await ended(started.body.transactionId);
      await waitFor('the load', () => headset.journal.held.get(loading)?.state === 'started');

      await stack.backing?.s3?.kill();
      const refused = await ask('2.0.0');
      expect(refused.status).toBe(503);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.body).toEqual({ message: expect.any(String) });
      const ready = await request(`${stack.admin.updates}/readyz`);
      expect([ready.statusCode, await ready.body.text()]).toEqual([200, 'ok\n']);
      expect((await api.app('GET', `/apps?package=${name}`)).body.totalCount).toBe(1);
      await ended((await command()).body.transactionId);
      await stack.backing?.s3?.restart();
      const end = await ended(loading);
      expect(end.body).toMatchObject({ result: 'success', progress: 1 });
      const { artifacts } = await createAdmin(stack.admin).updates.listArtifacts({ package: name });
      expect(artifacts.map((a) => a.version)).toEqual(['1.0.0']);
      expect((await ask('2.0.0')).status).toBe(201);
    },
    90_000,
  );
});

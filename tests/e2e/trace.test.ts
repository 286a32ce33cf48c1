import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { type IntegratorServer, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import {
  type Admin,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { type Storage, startStorage } from '@headset-cloud/demo/sora/storage.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describeOnStack, imei, ownBacking, stack as suiteStack } from './harness.ts';
import { type Collector, startCollector } from './otlp.ts';

const client = { clientId: 'traced', clientSecret: randomBytes(24).toString('hex') };

describeOnStack('one trace', () => {
  let folder: string;
  let collector: Collector;
  let traced: Stack | undefined;
  let integrator: IntegratorServer;
  let headset: Headset;
  let run: (method: string, path: string, body: unknown, trace: string) => Promise<number>;
  let deviceId: string;
  let admin: Admin;
  let api: ApiClient;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-trace-'));
    collector = await startCollector();
    integrator = await startIntegrator();
    traced = await startStack({
      kind: suiteStack.kind,
      backing: await ownBacking(),
      dataDir: folder,
      clients: [client],
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
      },
    });
    admin = createAdmin(traced.admin);
    const identity = await provisionDevice(admin, imei());
    deviceId = identity.deviceId;
    const applicationId = await provisionApplication(admin, {
      ...{ developerId: 'traced', clientIds: [client.clientId], name: 'traced', activationLimit: 1 },
      deviceIds: [deviceId],
    });
    api = createApiClient({
      apiUrl: traced.apiUrl,
      tokenUrl: traced.tokenUrl,
      applicationId,
      ...client,
    });
    await api.app('PATCH', '', { deviceEvent: integrator.url });
    integrator.keys.push((await api.app('POST', '/refresh_authkey')).body.authenticationKey);
    headset = new Headset({
      identity,
      server: traced.deviceLinkUrl,
      backoff: { firstMs: 50, maxMs: 500 },
    });
    run = async (method, path, body, traceId) => {
      const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-01`;
      const answer = await api.app(method, path, body, { traceparent });
      return answer.body.transactionId;
    };
  }, 120_000);
  afterAll(async () => {
    await headset?.close();
    await traced?.stop();
    await integrator?.close();
    await collector?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const command = (traceId: string) =>
    run('PUT', `/devices/${deviceId}/commands`, { package: 'a', launchType: 'activity' }, traceId);
  const callbacks = (id: number) => integrator.received.filter((r) => r.body.transactionId === id);
  const ended = (id: number) => waitFor('both callbacks', () => callbacks(id).length === 2);
  const newTrace = () => randomBytes(16).toString('hex');
  const spansOf = (traceId: string) => collector.spans.filter((s) => s.traceId === traceId);

  it.each(['online', 'offline'])(
    'connects the REST call, every service and the callbacks, with the headset %s',
    async (where) => {
      const [first, second] = [newTrace(), newTrace()];
      const activation = await run('POST', `/devices/${deviceId}`, { clientId: `traced-${where}` }, first);
      if (where === 'online') {
        headset.connect();
        await ended(activation);
      } else {
        await ended(activation);
        headset.stayAway(3_600_000);
        await waitFor('the absence', () => headset.sessionEpoch === 0);
      }
      const id = await command(second);
      if (where === 'offline') headset.stayAway(0);
      await ended(id);
      for (const [traceId, transaction] of [
        [first, activation],
        [second, id],
      ] as const) {
        for (const { traceparent } of callbacks(transaction)) expect(traceparent).toMatch(`00-${traceId}-`);
      }
      const services = () => new Set(spansOf(second).map((s) => s.service));
      const wanted = suiteStack.oneProcess
        ? ['headset-cloud']
        : ['gateway', 'devices', 'transactions', 'device-link', 'notifier'];
      // Each process exports its spans at its own time: the last span may be from any process.
      await waitFor('the spans of every process', () => services().size >= wanted.length);
      expect([...services()].toSorted()).toEqual(wanted.toSorted());
    },
  );

  it('each part has its span, and all spans are connected', async () => {
    const traceId = newTrace();
    await ended(await command(traceId));
    const rootsOf = (spans: ReturnType<typeof spansOf>) => {
      const known = new Set(spans.map((s) => s.spanId));
      return spans.filter((s) => !known.has(s.parentSpanId));
    };
    // Each process exports its spans at its own time; the complete tree has one root.
    const spans = await waitFor('the whole tree', () => {
      const found = spansOf(traceId);
      const sent = found.filter((s) => s.name === 'callback.send').length === 2;
      return sent && rootsOf(found).length === 1 && found;
    });
    const names = spans.map((s) => s.name);
    for (const part of [
      /^PUT \/v1\/applications/,
      /SendOperation$/,
      /CreateTransaction$/,
      /Deliver$/,
      /publish$/,
    ]) {
      expect(names).toContainEqual(expect.stringMatching(part));
    }
    // Only the gateway's span has a parent outside the platform: the integrator's.
    expect(rootsOf(spans).map((s) => s.name)).toEqual([expect.stringMatching(/^PUT /)]);
  });

  it('the headset’s part has spans too: the start grant, and the report of the result', async () => {
    const traceId = newTrace();
    await ended(await command(traceId));
    const named = (pattern: RegExp) => spansOf(traceId).some((s) => pattern.test(s.name));
    await waitFor('the start grant', () => named(/Accept$/));
    await waitFor('the report', () => named(/report/i));
  });

  describe('of a webhook of Sora', () => {
    let sora: SoraSimulator;
    let storage: Storage;
    let channelId: string;
    beforeAll(async () => {
      const secret = randomBytes(24).toString('base64url');
      sora = new SoraSimulator({ endpointId: 'traced', secret, webhookUrl: traced?.soraWebhookUrl ?? '' });
      await sora.start();
      storage = await startStorage();
      storage.keys.push(...integrator.keys);
      await admin.communication.putEndpoint({
        endpoint: {
          ...{ endpointId: 'traced', signalingUrl: 'wss://traced.example.com/', soraVersion: '1.0.0' },
          ...{ connectionLimit: 10, archiveUrl: sora.archiveUrl, webhookSecret: secret },
        },
      });
      await api.app('PATCH', '', {
        ...{ soraEvent: integrator.url, soraFileSendEvent: integrator.url },
        soraRecGetPresignedUrl: `${storage.origin}/single`,
      });
      channelId = (await api.app('POST', '/channels', {})).body.channelId;
    });
    afterAll(async () => {
      await sora?.close();
      await storage?.close();
    });
    const callbackWith = (what: string, is: (body: { event?: string; channel?: object }) => boolean) =>
      waitFor(what, () => integrator.received.find((r) => is(r.body)));
    const parentOf = (traceId: string) => `00-${traceId}-${randomBytes(8).toString('hex')}-01`;

    it('continues to the callback, and from a recording’s last webhook to its notification', async () => {
      const [first, second] = [newTrace(), newTrace()];
      const connection = sora.join(channelId);
      await sora.created(connection).send({ traceparent: parentOf(first) });
      const event = await callbackWith('the event', (body) => body.event === 'connection.created');
      expect(event.traceparent).toMatch(`00-${first}-`);
      for (const hook of sora.record([connection]).webhooks) {
        await hook.send({ traceparent: parentOf(second) });
      }
      const notification = await callbackWith('the recording', (body) => 'channel' in body);
      expect(notification.traceparent).toMatch(`00-${second}-`);
      const names = () => spansOf(second).map((s) => s.name);
      const expected = [
        /^POST \/webhooks\/sora/,
        /^recording upload$/,
        /RequestSignedUrls$/,
        /^callback\.send$/,
      ];
      await waitFor('the spans', () => expected.every((part) => names().some((name) => part.test(name))));
    });

    it('begins with the webhook if the webhook has no trace', async () => {
      await sora.destroyed(sora.join(channelId)).send();
      const event = await callbackWith('the event', (body) => body.event === 'connection.destroyed');
      const traceId = /^00-([0-9a-f]{32})-/.exec(event.traceparent)?.[1] ?? 'none';
      const roots = () => spansOf(traceId).filter((s) => !s.parentSpanId);
      await waitFor('its first span', () => roots().length > 0);
      expect(roots().map((s) => s.name)).toEqual(['POST /webhooks/sora/{endpointId}']);
    });
  });
});

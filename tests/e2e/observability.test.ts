import { instancesOf } from '@headset-cloud/demo/stack/instances.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { admin, createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { instancesWanted, ofEveryService } from './instances.ts';
import { startReceiver } from './receiver.ts';

/** A sample of a metric: its labels and value. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** A gauge for the whole platform, which every instance exports. */
  readonly ofPlatform: boolean;
}

describeOnStack('observability', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 3 });
  });
  afterAll(() => tenant.close());

  async function get(url: string): Promise<{ status: number; type: string; text: string }> {
    const answer = await request(url);
    const text = await answer.body.text();
    return { status: answer.statusCode, type: String(answer.headers['content-type']), text };
  }
  /** The samples of a metric in all processes. */
  async function samples(name: string): Promise<Sample[]> {
    const found: Sample[] = [];
    for (const url of Object.values(stack.adminUrls)) {
      const { text } = await get(`${url}/metrics`);
      const ofPlatform = new RegExp(`^# HELP ${name} .*use max, not sum`, 'm').test(text);
      for (const [, given = '', value] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'))) {
        const labels = [...given.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v]);
        found.push({ labels: Object.fromEntries(labels), value: Number(value), ofPlatform });
      }
    }
    return found;
  }
  /** The sum over all processes; for a gauge of the whole platform the maximum. */
  const sum = async (name: string, of: (labels: Sample['labels']) => boolean = () => true) =>
    (await samples(name))
      .filter((s) => of(s.labels))
      .reduce((total, s) => (s.ofPlatform ? Math.max(total, s.value) : total + s.value), 0);

  it('every process reports that it is alive and ready, and exports its metrics', async () => {
    // Every instance of the services and the gateway; or the one process for all.
    const wanted = instancesWanted();
    const all = instancesOf(ofEveryService(wanted)).length + wanted;
    expect(Object.keys(stack.adminUrls).length).toBe(
      stack.oneProcess ? (stack.kind === 'real' ? wanted : 1) : all,
    );
    for (const url of Object.values(stack.adminUrls)) {
      expect(await get(`${url}/livez`)).toEqual({ status: 200, type: 'text/plain', text: 'ok\n' });
      expect(await get(`${url}/readyz`)).toEqual({ status: 200, type: 'text/plain', text: 'ok\n' });
      const metrics = await get(`${url}/metrics`);
      expect([metrics.status, metrics.type.split(';')[0]]).toEqual([200, 'text/plain']);
      for (const own of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']) {
        expect(metrics.text).toContain(own);
      }
      expect(metrics.text).toMatch(/^headset_ready\{.*\} 1$/m);
      // Each metric has a help text.
      const named = [...metrics.text.matchAll(/^# TYPE (headset_\S+)/gm)].map(([, name]) => name);
      for (const name of named) expect(metrics.text).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
    }
  });

  it('transactions are counted by state, with the age of the oldest', async () => {
    const inState = (state: string) => (labels: Sample['labels']) => labels['state'] === state;
    const open = (state: string) => sum('headset_transactions_open', inState(state));
    const age = (state: string) => sum('headset_transactions_oldest_open_age_seconds', inState(state));
    const before = { published: await open('published'), accepted: await open('accepted') };
    const [away, busy] = tenant.devices;
    await tenant.activate(away);
    await tenant.command(away);
    const headset = tenant.headset(busy, { behaviour: { answersStarts: false } });
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    const started = await tenant.activate(busy);
    await waitFor('the start', async () => (await tenant.status(started)) === 'accepted');
    await tenant.transactions();
    expect(await open('published')).toBe(before.published + 2);
    expect(await open('accepted')).toBe(before.accepted + 1);
    expect(await open('created')).toBe(0);
    for (const state of ['published', 'accepted']) {
      expect(await age(state)).toBeGreaterThan(0);
      expect(await age(state)).toBeLessThan(3600);
    }
    expect(await age('created')).toBe(0);
    await tenant.call(200, 'DELETE', `/devices/${away?.deviceId}/transactions`);
    expect(await open('published')).toBe(before.published);
  });

  it('callbacks that are due are counted, with their age and the attempts by outcome', async () => {
    const own = await createTenant();
    const pending = async (applicationId = '') =>
      (await admin().notifier.listDeliveries({ applicationId, status: 'pending', limit: 1000 })).deliveries
        .length;
    // Headsets of earlier tests may be found offline meanwhile: both listeners count all pending callbacks.
    const counted = () =>
      waitFor('the gauge to agree with the list', async () => {
        const before = await pending();
        const gauge = await sum('headset_callbacks_due');
        return before === gauge && (await pending()) === gauge;
      });
    const failed = (labels: Sample['labels']) => labels['outcome'] === 'failed';
    const failures = await sum('headset_callback_attempts_total', failed);
    const delivered = await sum('headset_callback_delivery_seconds_count');
    let answer = 500;
    const receiver = await startReceiver(() => answer);
    try {
      await own.activate();
      await own.call(200, 'PATCH', '', { deviceEvent: receiver.url });
      await own.call(201, 'PUT', `/devices/${own.devices[0]?.deviceId}/commands`, { launchType: 'service' });
      await waitFor('an attempt', () => receiver.arrivals.length > 1);
      expect(await pending(own.applicationId)).toBe(1);
      await counted();
      const age = await sum('headset_callbacks_oldest_due_age_seconds');
      expect(age).toBeGreaterThan(0);
      expect(age).toBeLessThan(3600);
      expect(await sum('headset_callback_attempts_total', failed)).toBeGreaterThan(failures);
      answer = 200;
      await waitFor('the delivery', async () => (await pending(own.applicationId)) === 0);
      await counted();
      expect(await sum('headset_callback_delivery_seconds_count')).toBe(delivered + 1);
    } finally {
      await own.close();
      await receiver.close();
    }
  });

  it('exports the lag of each consumer group, and its handled events', async () => {
    const handled = (labels: Sample['labels']) => labels['group'] === 'transactions';
    const before = await sum('headset_consumer_events_total', handled);
    const headset = tenant.headset(tenant.devices[1]);
    headset.connect();
    await waitFor('the hello to be handled', async () => {
      return (await sum('headset_consumer_events_total', handled)) > before;
    });
    await headset.close();
    for (const group of ['transactions', 'devices', 'notifier']) {
      const ofGroup = (labels: Sample['labels']) => labels['group'] === group;
      await waitFor(`${group} to be level with the log`, async () => {
        return (await sum('headset_consumer_lag_events', ofGroup)) === 0;
      });
    }
  });

  it('headsets that are online are counted', async () => {
    const before = await sum('headset_sessions');
    const headset = tenant.headset(tenant.devices[2]);
    headset.connect();
    await waitFor('one more', async () => (await sum('headset_sessions')) === before + 1);
    await headset.close();
    await waitFor('one less', async () => (await sum('headset_sessions')) === before);
  });

  it('requests are measured by route, method and status, without ids in the labels', async () => {
    const name = 'headset_gateway_request_duration_seconds';
    const route = '/v1/applications/{applicationId}/transactions/{transactionId}';
    const notFound = (l: Sample['labels']) =>
      l['route'] === route && l['status'] === '404' && l['method'] === 'GET';
    const before = await sum(`${name}_count`, notFound);
    for (let i = 0; i < 3; i++) await tenant.call(404, 'GET', '/transactions/4503599627370497');
    expect(await sum(`${name}_count`, notFound)).toBe(before + 3);
    expect(await sum(`${name}_sum`, notFound)).toBeGreaterThan(0);
    const labels = (await samples(`${name}_count`)).map((s) => s.labels);
    expect(JSON.stringify(labels)).not.toMatch(/4503599627370497|\d{15}/);
    expect(JSON.stringify(labels)).not.toContain(tenant.applicationId);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { startTestGateway, type TestGateway } from '../testing/gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway.stop());

const status = `/v1/applications/app-1/devices/status`;

// withstands rest/overload
test('of more calls than a service does in time, some are refused at once and the others done', async () => {
  gateway = await startTestGateway({ UPSTREAM_DEADLINE_MS: '1000' });
  // One after the other: twenty in the time that a call has.
  let last: Promise<unknown> = Promise.resolve();
  gateway.fakes.answers.listDeviceStatuses = async () => {
    last = last.then(() => delay(50));
    await last;
    return { statuses: [], more: false };
  };
  const seen: { status: number; tookMs: number; headers: Record<string, string> }[] = [];
  const untilMs = performance.now() + 5000;
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      while (performance.now() < untilMs) {
        const fromMs = performance.now();
        const answer = await gateway.request('GET', status);
        seen.push({ ...answer, tookMs: performance.now() - fromMs });
        if (answer.status !== 200) await delay(500);
      }
    }),
  );
  expect([...new Set(seen.map((one) => one.status))].sort()).toEqual([200, 503]);
  const refused = seen.filter((one) => one.status === 503 && one.tookMs < 500);
  expect(refused.length).toBeGreaterThan(100);
  for (const { headers } of refused) expect(['1', '2', '3']).toContain(headers['retry-after']);
  const shown = await gateway.metrics.getSingleMetricAsString('headset_gateway_overload_refused_total');
  expect(Number(/service="devices"\} (\d+)/.exec(shown)?.[1])).toBeGreaterThan(100);
  // Other services are not in the way.
  expect((await gateway.request('GET', '/v1/applications/app-1/transactions')).status).toBe(200);
}, 30_000);

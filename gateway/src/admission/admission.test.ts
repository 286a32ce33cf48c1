import { setTimeout as delay } from 'node:timers/promises';
import { requireTime } from '@headset-cloud/kit/deadline.ts';
import { startTestGateway, type TestGateway } from '../testing/gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway.stop());

const status = `/v1/applications/app-1/devices/status`;

// withstands rest/overload
test('of more calls than a service does in time, some are refused at once and the others done', async () => {
  gateway = await startTestGateway({ UPSTREAM_DEADLINE_MS: '2000' });
  // One processor for all of them: some forty calls in the time that one has. Nothing is done for those that are too late.
  let turn: Promise<unknown> = Promise.resolve();
  gateway.fakes.answers.listDeviceStatuses = async () => {
    for (let part = 0; part < 10; part += 1) {
      requireTime();
      turn = turn.then(() => delay(5));
      await turn;
    }
    return { statuses: [], more: false };
  };
  const seen: { status: number; text: string; headers: Record<string, string>; late: boolean }[] = [];
  const fromMs = performance.now();
  const doneLate = () => seen.filter((one) => one.status === 200 && one.late).length;
  const goOn = () => {
    const ms = performance.now() - fromMs;
    // A busy machine does less in the same time; without the limit it would do nothing for as long as they come.
    return ms < 10_000 || (ms < 100_000 && doneLate() <= 10);
  };
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      while (goOn()) {
        const answer = await gateway.request('GET', status);
        seen.push({ ...answer, late: performance.now() > fromMs + 5000 });
        if (answer.status !== 200) await delay(500);
      }
    }),
  );
  expect([...new Set(seen.map((one) => one.status))].sort()).toEqual([200, 503]);
  expect(doneLate()).toBeGreaterThan(10);
  const refused = seen.filter(({ text }) => text.includes('The platform has too many calls to do.'));
  expect(refused.length).toBeGreaterThan(10);
  for (const one of refused) {
    expect(one.status).toBe(503);
    expect(['1', '2', '3']).toContain(one.headers['retry-after']);
  }
  const shown = await gateway.metrics.getSingleMetricAsString('headset_gateway_overload_refused_total');
  expect(Number(/service="devices"\} (\d+)/.exec(shown)?.[1])).toBe(refused.length);
  // Other services are not in the way.
  expect((await gateway.request('GET', '/v1/applications/app-1/transactions')).status).toBe(200);
}, 150_000);

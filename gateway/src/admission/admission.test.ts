import { late } from '@headset-cloud/runtime/deadline.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { startTestGateway, type TestGateway } from '../testing/gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway.stop());

const status = `/v1/applications/app-1/devices/status`;
const manyCalls = 64;

// protects against rest/overload
test('if a service gets more calls than it can answer in time, some are rejected at once and the others finish', async () => {
  // The service itself ends its calls long before the deadline.
  gateway = await startTestGateway({ UPSTREAM_DEADLINE_MS: '60000' });
  let open: PromiseWithResolvers<void>[] = [];
  gateway.fakes.answers.listDeviceStatuses = async () => {
    const call = Promise.withResolvers<void>();
    open.push(call);
    await call.promise;
    return { statuses: [], more: false };
  };
  const ask = () => Array.from({ length: manyCalls }, () => gateway.request('GET', status));

  const tooLate = ask();
  await waitFor('all calls at the service', () => open.length === manyCalls);
  for (const call of open.splice(0)) call.reject(late());
  expect(new Set((await Promise.all(tooLate)).map((answer) => answer.status))).toEqual(new Set([503]));

  const answers = ask();
  const refused: Awaited<(typeof answers)[number]>[] = [];
  for (const answer of answers) void answer.then((one) => one.status === 503 && refused.push(one));
  await waitFor('half of the calls to be rejected', () => refused.length === manyCalls / 2);
  // The other calls are still at the service: no rejection waited for them.
  expect(open).toHaveLength(manyCalls / 2);
  for (const { text, headers } of refused) {
    expect(text).toContain('The platform is overloaded.');
    expect(['1', '2', '3']).toContain(headers['retry-after']);
  }
  const shown = await gateway.metrics.getSingleMetricAsString('headset_gateway_overload_refused_total');
  expect(Number(/service="devices"\} (\d+)/.exec(shown)?.[1])).toBe(refused.length);
  // Calls to other services are not affected.
  expect((await gateway.request('GET', '/v1/applications/app-1/transactions')).status).toBe(200);
  for (const call of open) call.resolve();
  const done = (await Promise.all(answers)).filter((answer) => answer.status === 200);
  expect(done).toHaveLength(manyCalls / 2);
  open = [];
});

import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { World } from '../testing/world.ts';

const devices = ['350000000000011', '350000000000029', '350000000000037'];
const reportBytes = 50_000;
const budgetBytes = 6 * reportBytes;
const reportsOfEach = 15;

let world: World;
beforeEach(() => {
  world = new World();
  for (const id of devices) world.registerKey(id, 'k1');
});
afterEach(() => world.close());

/** Number of reports that device-link has read from the streams. */
async function read(): Promise<number> {
  const metric = await world.metrics.getSingleMetric('headset_session_messages_total')?.get();
  const of = metric?.values.find(({ labels }) => labels['direction'] === 'in' && labels['kind'] === 'report');
  return of?.value ?? 0;
}

async function taken(): Promise<number> {
  return (await world.metrics.getSingleMetric('headset_queued_report_bytes')?.get())?.values[0]?.value ?? 0;
}

function report(headset: RawHeadset, id: number): void {
  const body = { case: 'customData', value: { customData: 'x'.repeat(reportBytes) } } as const;
  headset.send({ case: 'report', value: { reportId: BigInt(id), activationEpoch: 1n, body } });
}

// protects against headsets/report-flood
it('reports of all headsets stay within the memory budget while the log is unavailable, and none is lost', async () => {
  const instance = await world.start({ DEVICE_LINK_QUEUED_REPORT_BYTES: budgetBytes });
  const headsets = devices.map((id) => world.dial(instance, { id, hello: {} }));
  for (const headset of headsets) await headset.next('welcome');
  await waitFor('the hellos on the log', async () => (await world.reports()).length === devices.length);
  world.logUnavailable = true;
  for (const headset of headsets) {
    for (let id = 1; id <= reportsOfEach; id += 1) report(headset, id);
  }
  await waitFor('a full memory budget', async () => (await taken()) >= budgetBytes);
  // A headset that connects now has no report in the queue, so its first report is read.
  const newId = '350000000000045';
  world.registerKey(newId, 'k1');
  const late = world.dial(instance, { id: newId, hello: {} });
  await late.next('welcome');
  const most = budgetBytes / reportBytes + devices.length;
  expect(await read()).toBeLessThanOrEqual(most);
  world.logUnavailable = false;
  let mostTaken = 0;
  await waitFor('all reports on the log', async () => {
    mostTaken = Math.max(mostTaken, await taken());
    const ids = await world.reportIds('device-reports');
    return ids.length === devices.length * reportsOfEach;
  });
  expect(mostTaken).toBeLessThan(budgetBytes + (devices.length + 1) * (reportBytes + 2048));
  await waitFor('an empty memory budget', async () => (await taken()) === 0);
});

import { topics } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { report } from './testing/reports.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** Statuses in pages, filtered by values that the application may read. */

const numbers = [0, 1, 2, 3, 4, 5, 6];
let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world, { devices: numbers.length });
  await provision(world, { name: 'other', devices: numbers.length });
});
afterEach(() => world.close());

const activate = (n: number, applicationId = 'app', clientId = `c-${n}`) =>
  world.devices.activateDevice({ caller: callerOf(applicationId), deviceId: imei(n), clientId });

/** Returns the ids of all pages, and the number of calls. */
async function paged(filters: object, limit = 2): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let afterDeviceId = '';
  for (let pages = 1; ; pages += 1) {
    const page = await world.devices.findDeviceStatuses({
      ...{ applicationId: 'app', limit, afterDeviceId },
      ...filters,
    });
    expect(page.found.length).toBeLessThanOrEqual(limit);
    ids.push(...page.found.map((one) => one.status?.deviceId ?? ''));
    if (page.nextAfterDeviceId === '') return { ids, pages };
    expect(page.nextAfterDeviceId > afterDeviceId).toBe(true);
    afterDeviceId = page.nextAfterDeviceId;
  }
}

test('pages have every device of the application once, in the order of ids, and no other application’s', async () => {
  for (const n of [6, 2, 4, 0, 5]) await activate(n);
  await activate(1, 'other');
  const expected = [0, 2, 4, 5, 6].map(imei).sort();
  expect(await paged({})).toEqual({ ids: expected, pages: 3 });
  expect(await paged({}, 5)).toEqual({ ids: expected, pages: 1 });
  expect(await paged({ network: 'connectivity_offline' })).toEqual({ ids: expected, pages: 3 });
  expect(await paged({ network: 'connectivity_online' })).toEqual({ ids: [], pages: 1 });
});

test('the time of an activation does not change with a repeated activation or a reset', async () => {
  const at = world.nowMs;
  await activate(0);
  const since = async () => {
    const { found } = await world.devices.findDeviceStatuses({ applicationId: 'app' });
    return found[0]?.activatedAtMs;
  };
  expect(await since()).toBe(BigInt(at));
  world.nowMs += 5000;
  await activate(0, 'app', 'another client');
  await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
  expect(await since()).toBe(BigInt(at));
  expect((await paged({ activatedSinceMs: BigInt(at) })).ids).toEqual([imei(0)]);
  expect((await paged({ activatedSinceMs: BigInt(at + 1) })).ids).toEqual([]);
  await world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
  await activate(0, 'app', 'once more');
  expect(await since()).toBe(BigInt(at + 5000));
});

test('a device whose activation was stored without its time is listed without the time, and matches no time filter', async () => {
  await activate(0);
  await world.store
    .collection<{ _id: string }>('devices')
    .updateOne({ _id: imei(0) }, { $unset: { 'activation.sinceMs': '' } });
  const { found } = await world.devices.findDeviceStatuses({ applicationId: 'app' });
  expect([found.length, found[0]?.activatedAtMs]).toEqual([1, undefined]);
  expect((await paged({ activatedSinceMs: 0n })).ids).toEqual([]);
});

test('the battery filter uses only values that the application may read', async () => {
  await activate(0);
  const change = { case: 'stateChange', value: { batteryPercentage: 10 } } as const;
  await world.log.publish(topics.deviceReports, [report(change, { activationEpoch: 1 })]);
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
  expect((await paged({ batteryBelow: 11 })).ids).toEqual([imei(0)]);
  expect((await paged({ batteryBelow: 10 })).ids).toEqual([]);
  await world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
  await activate(0, 'other');
  const theirs = await world.devices.findDeviceStatuses({ applicationId: 'other', batteryBelow: 100 });
  expect(theirs.found).toEqual([]);
});

test('a filter that few devices match reads a limited number of devices per call and continues after them', async () => {
  await activate(0);
  const devices = world.store.collection<{ _id: string }>('devices');
  const [template] = await devices.find({ _id: imei(0) }, {}).toArray();
  const id = (n: number) => `99${String(n).padStart(13, '0')}`;
  await devices.insertMany(
    Array.from({ length: 2500 }, (_, n) => {
      const { activation, ...rest } = template as unknown as { activation: object };
      const battery = { value: n === 2400 ? 5 : 50, reportId: 1, atMs: 1, epoch: 9 };
      return {
        ...{ ...rest, _id: id(n), activation: { ...activation, clientId: `many-${n}`, slot: n + 1 } },
        ...{ reported: { battery }, keys: [], pending: [] },
      };
    }),
  );
  expect(await paged({ batteryBelow: 6 })).toEqual({ ids: [id(2400)], pages: 3 });
});

import { create, toBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { occurredAtMs, receivedAtMs, report } from './testing/reports.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
});
afterEach(() => world.close());

const model = {
  identifier: 'HS-100',
  name: 'Headset 100',
  description: 'The first.',
  shape: 'neck-mounted',
  cameras: [
    { direction: 'landscape', mountedPosition: 'front', maxWidth: 1920, maxHeight: 1080 },
    { direction: 'portrait', mountedPosition: 'left', maxWidth: 1, maxHeight: 1 },
  ],
};
const activate = () =>
  world.devices.activateDevice({ caller: callerOf('app'), deviceId: imei(0), clientId: 'c' });
const properties = (clientId = 'dev-client', deviceId = imei(0)) =>
  world.devices.getHardwareProperties({ clientId, deviceId });
const device = async (deviceId = imei(0)) => (await world.admin.getDevice({ deviceId })).device;

interface Said {
  firmwareVersion?: string;
  clientVersion?: string;
  languages?: string[];
  hardware?: { macAddressWifi?: string; macAddressBluetooth?: string; modelIdentifier?: string };
}
function hello(said: Said, { sessionEpoch = 1, atMs = receivedAtMs } = {}) {
  const message = create(DeviceReportEventSchema, {
    deviceId: imei(0),
    sessionEpoch: BigInt(sessionEpoch),
    receivedAtMs: BigInt(atMs),
    activationEpoch: 1n,
    body: { case: 'hello', value: said },
  });
  return { key: imei(0), value: toBinary(DeviceReportEventSchema, message) };
}
async function say(...events: ReturnType<typeof hello>[]) {
  await world.log.publish(topics.deviceReports, events);
  await waitFor('the events', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
}

describe('hardware properties', () => {
  test('before the headset’s first report every field but the device is absent', async () => {
    await activate();
    const answer = await properties();
    expect(answer.deviceId).toBe(imei(0));
    for (const field of ['model', 'macAddressWifi', 'macAddressBluetooth', 'specificDestination'] as const) {
      expect(answer[field]).toBeUndefined();
    }
  });

  test('the model is the registered one of the identifier that the headset reported', async () => {
    await activate();
    const hardware = { macAddressWifi: 'aa:bb', macAddressBluetooth: 'cc:dd', modelIdentifier: 'HS-100' };
    await say(hello({ hardware }));
    expect(await properties()).toMatchObject({ macAddressWifi: 'aa:bb', macAddressBluetooth: 'cc:dd' });
    expect((await properties()).model).toBeUndefined();
    await world.admin.putHardwareModel({ model });
    await world.admin.putDevice({ deviceId: imei(0), specificDestination: 'Osaka plant' });
    expect(await properties()).toMatchObject({
      deviceId: imei(0),
      model,
      macAddressWifi: 'aa:bb',
      macAddressBluetooth: 'cc:dd',
      specificDestination: 'Osaka plant',
    });
  });

  test('only a client whose developer’s application has activated the device may read them', async () => {
    await expect(properties('unknown')).rejects.toMatchObject({
      code: 'developer_not_registered',
      message: 'The developer is not registered.',
    });
    await expect(properties()).rejects.toMatchObject({ code: 'device_not_activated' });
    await expect(properties('dev-client', imei(77))).rejects.toMatchObject({ code: 'device_not_activated' });
    await activate();
    await world.admin.putDeveloper({ developer: { developerId: 'dev2', clientIds: ['client2'] } });
    await expect(properties('client2')).rejects.toMatchObject({ code: 'device_activated_by_other' });
    await world.admin.putDeveloper({
      developer: { developerId: 'dev', clientIds: ['dev-client', 'second'] },
    });
    expect((await properties('second')).deviceId).toBe(imei(0));
  });
});

describe('hardware models', () => {
  test('a put replaces the registered model; the list is ordered by identifier', async () => {
    await world.admin.putHardwareModel({ model });
    const box = { identifier: 'A', name: 'Box', description: '', shape: 'box', cameras: [] };
    expect((await world.admin.putHardwareModel({ model: box })).model).toMatchObject(box);
    const renamed = { ...model, name: 'Renamed', cameras: [] };
    await world.admin.putHardwareModel({ model: renamed });
    expect((await world.admin.listHardwareModels({})).models).toMatchObject([box, renamed]);
  });

  const camera = { direction: 'landscape', mountedPosition: 'front', maxWidth: 1, maxHeight: 1 };
  test.each([
    ['no model', undefined, 'model'],
    ['an empty identifier', { ...model, identifier: '' }, 'identifier'],
    ['an identifier of 101 characters', { ...model, identifier: 'x'.repeat(101) }, 'identifier'],
    ['an identifier with a line break', { ...model, identifier: 'a\nb' }, 'identifier'],
    ['an empty name', { ...model, name: '' }, 'name'],
    ['a description of 1001 characters', { ...model, description: 'x'.repeat(1001) }, 'description'],
    ['an unknown shape', { ...model, shape: 'Box' }, 'shape'],
    ['an unknown direction', { ...model, cameras: [{ ...camera, direction: 'up' }] }, 'cameras[0].direction'],
    ['no position', { ...model, cameras: [{ ...camera, mountedPosition: '' }] }, 'mounted_position'],
    ['a width of 0', { ...model, cameras: [camera, { ...camera, maxWidth: 0 }] }, 'cameras[1].max_width'],
    ['a height of 0', { ...model, cameras: [{ ...camera, maxHeight: 0 }] }, 'cameras[0].max_height'],
    ['17 cameras', { ...model, cameras: Array.from({ length: 17 }, () => camera) }, 'cameras'],
  ])('%s is rejected, and the error names the field', async (_, wrong, field) => {
    await expect(world.admin.putHardwareModel(wrong ? { model: wrong } : {})).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field),
    });
    expect((await world.admin.listHardwareModels({})).models).toEqual([]);
  });
});

describe('a device, as operators see it', () => {
  test('its destination is set, kept by a put without a destination, and removed by an empty text', async () => {
    await world.admin.putDevice({ deviceId: imei(5), specificDestination: 'Tokyo' });
    await world.admin.putDevice({ deviceId: imei(5) });
    expect((await device(imei(5)))?.specificDestination).toBe('Tokyo');
    await world.admin.putDevice({ deviceId: imei(5), specificDestination: '' });
    expect((await device(imei(5)))?.specificDestination).toBe('');
  });

  test('an invalid destination registers nothing', async () => {
    const put = world.admin.putDevice({ deviceId: imei(6), specificDestination: 'x'.repeat(256) });
    await expect(put).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'specific_destination is not a text of 0 to 255 characters.',
    });
    await expect(device(imei(6))).rejects.toMatchObject({ code: 'not_found' });
  });

  test('the reported state is shown after the first session', async () => {
    expect((await device())?.status).toBeUndefined();
    await say(
      hello({ clientVersion: '3.4.0', firmwareVersion: '9.1' }),
      report({ case: 'stateChange', value: { power: 'started' } }, { activationEpoch: 0 }),
    );
    expect(await device()).toMatchObject({
      clientVersion: '3.4.0',
      status: { firmwareVersion: '9.1', power: 'started', powerUpdatedAtMs: BigInt(occurredAtMs) },
    });
    const { devices } = await world.admin.listDevices({ limit: 1 });
    expect(devices).toMatchObject([{ deviceId: imei(0), clientVersion: '3.4.0' }]);
    expect(devices[0]?.status).toBeUndefined();
  });
});

describe('the software in the status', () => {
  const inventory = (firmwareVersion: string, reportId: number, occurredAtMs: number) =>
    report(
      {
        case: 'inventory',
        value: { firmwareVersion, apps: [{ package: 'a', version: firmwareVersion }], languages: ['ja'] },
      },
      { reportId, occurredAtMs, activationEpoch: 0 },
    );
  const software = async () => {
    const { status } = (await device()) ?? {};
    return [status?.firmwareVersion, status?.apps.map((app) => app.version), status?.languages];
  };
  const now = receivedAtMs;

  test('an inventory replaces the software of the session’s hello', async () => {
    await say(
      hello({ firmwareVersion: '1', languages: ['en'] }, { atMs: now - 10 }),
      inventory('2', 5, now - 5),
    );
    expect(await software()).toEqual(['2', ['2'], ['ja']]);
  });

  test.each([
    ['in one batch', true],
    ['in two', false],
  ])('of two inventories the one with the higher report id stays, %s', async (_, together) => {
    await say(hello({ firmwareVersion: '1' }, { atMs: 1 }));
    const [newer, older] = [inventory('3', 6, 100), inventory('2', 5, 200)];
    if (together) await say(newer, older);
    else {
      await say(newer);
      await say(older);
    }
    expect(await software()).toEqual(['3', ['3'], ['ja']]);
  });

  test('an inventory from before the session does not hide the session’s hello, however late it arrives', async () => {
    await say(hello({ firmwareVersion: '9', languages: ['en'] }, { sessionEpoch: 4, atMs: now - 10 }));
    await say(inventory('8', 50, now - 1000));
    expect(await software()).toEqual(['9', [], ['en']]);
  });

  test('a later session’s hello replaces an inventory', async () => {
    await say(hello({ firmwareVersion: '1' }, { atMs: 1 }), inventory('2', 5, 10));
    await say(hello({ firmwareVersion: '3' }, { sessionEpoch: 2, atMs: now }));
    expect(await software()).toEqual(['3', [], []]);
  });
});

import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import {
  ExtraType,
  LaunchType,
  type OperationSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const command = {
  package: 'com.example.app',
  launchType: LaunchType.ACTIVITY,
  extrasJson: '{"n":1.0}',
  extraTypes: { n: ExtraType.DOUBLE },
};
const send = (device: number, given: object = command, key?: string, application = 'app') =>
  world.devices.sendOperation({
    caller: callerOf(application, key),
    deviceId: imei(device),
    operationId: 'put-v1-applications-devices-commands',
    operation: { kind: { case: 'command', value: given } },
  });
const activate = (device: number) =>
  world.devices.activateDevice({ caller: callerOf('app'), deviceId: imei(device), clientId: `c${device}` });

test('a command becomes one transaction with the epoch of the activation and its extras untouched', async () => {
  await provision(world);
  await activate(0);
  const { transactionId } = await send(0);
  expect(world.transactions.created.at(-1)).toMatchObject({
    id: Number(transactionId),
    applicationId: 'app',
    operationId: 'put-v1-applications-devices-commands',
    epoch: 1,
    failMessage: '',
    operation: { kind: { case: 'command', value: command } },
  });
});

test('a command without action, package and classpath is created as failed, with the reason', async () => {
  await provision(world);
  await activate(0);
  await send(0, { launchType: LaunchType.BROADCAST });
  expect(world.transactions.created.at(-1)?.failMessage).toBe(
    'None of action, package and classpath is given.',
  );
});

test('the state of the device is checked before the destination', async () => {
  await provision(world);
  await provision(world, { name: 'other' });
  await activate(0);
  await world.applications.updateSettings({ caller: callerOf('other'), remove: ['deviceEvent'] });
  await expect(send(0, command, undefined, 'other')).rejects.toMatchObject({
    code: 'device_activated_by_other',
  });
  await expect(send(1)).rejects.toMatchObject({ code: 'device_not_activated' });
  await expect(send(77)).rejects.toMatchObject({ code: 'device_not_activated' });
  await world.applications.updateSettings({ caller: callerOf('app'), remove: ['deviceEvent'] });
  await expect(send(0)).rejects.toMatchObject({ code: 'destination_not_set' });
  expect(world.transactions.created).toHaveLength(1);
});

test('an application without an authentication key cannot send commands, and the error says so', async () => {
  await world.admin.putDeveloper({ developer: { developerId: 'dev', clientIds: ['dev-client'] } });
  await world.admin.createApplication({ application: { applicationId: 'app', developerId: 'dev' } });
  await world.admin.putContract({ applicationId: 'app', activationLimit: 1, addDeviceIds: [imei(0)] });
  await world.applications.updateSettings({
    caller: callerOf('app'),
    set: { deviceEvent: 'https://example.com/' },
  });
  await expect(activate(0)).rejects.toMatchObject({
    code: 'destination_not_set',
    message: expect.stringContaining('refresh_authkey'),
  });
});

test('one Idempotency-Key, ten concurrent callers and a repeat: one command', async () => {
  await provision(world);
  await activate(0);
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(0, command, 'key')));
  answers.push(await send(0, command, 'key'));
  expect(new Set(answers.map((a) => a.transactionId)).size).toBe(1);
  expect(world.transactions.created).toHaveLength(2);
});

test('a command whose creation was interrupted is created once by the repeat', async () => {
  await provision(world);
  await activate(0);
  world.transactions.failure = new DomainError('unavailable', 'away');
  await expect(send(0, command, 'key')).rejects.toMatchObject({ code: 'unavailable' });
  world.transactions.failure = undefined;
  await send(0, command, 'key');
  await send(0, command, 'key');
  expect(world.transactions.created).toHaveLength(2);
});

test('a command whose creation comes after the deactivation is rejected', async () => {
  await provision(world);
  await activate(0);
  const gate = Promise.withResolvers<void>();
  world.transactions.gate = gate.promise;
  const slow = send(0).catch((error) => error.code);
  while (world.transactions.waiting === 0) await new Promise(setImmediate);
  world.transactions.gate = undefined;
  await world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
  gate.resolve();
  expect(await slow).toBe('device_not_activated');
});

onEmbedded('a command costs two reads by id', async () => {
  await provision(world);
  await activate(0);
  await atRest(world);
  const before = world.documentsExamined();
  await send(0);
  expect(world.documentsExamined() - before).toBe(2);
});

test('a repeat gets the command that its unanswered first run created, also after a deactivation', async () => {
  await provision(world);
  await activate(0);
  world.transactions.silence = new DomainError('unavailable', 'gone');
  await expect(send(0, command, 'key')).rejects.toMatchObject({ code: 'unavailable' });
  world.transactions.silence = undefined;
  const made = world.transactions.created.at(-1)?.id;
  await world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(0) });
  expect(Number((await send(0, command, 'key')).transactionId)).toBe(made);
  await expect(send(0, command, 'another key')).rejects.toMatchObject({ code: 'device_not_activated' });
});

describe('operations of other kinds', () => {
  type Kind = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;
  const operate = (
    kind: Kind,
    { operationId = 'some-operation', subject = '', caller = callerOf('app') } = {},
  ) =>
    world.devices.sendOperation({
      caller,
      deviceId: imei(0),
      operationId,
      operation: { kind },
      subject,
    });
  /** Publishes a hello of the headset with these versions. */
  async function introduce(clientVersion: string, firmwareVersion = '') {
    sessions += 1;
    await publishReport({ case: 'hello', value: { clientVersion, firmwareVersion } });
  }
  /** Publishes a message of the headset in its newest session. */
  async function publishReport(body: MessageInitShape<typeof DeviceReportEventSchema>['body']) {
    now += 1000;
    const event = create(DeviceReportEventSchema, {
      deviceId: imei(0),
      sessionEpoch: BigInt(sessions),
      activationEpoch: 1n,
      receivedAtMs: BigInt(now),
      body,
    });
    const value = toBinary(DeviceReportEventSchema, event);
    await world.log.publish(topics.deviceReports, [{ key: imei(0), value }]);
    const handled = async () => (await world.log.lag('devices', topics.deviceReports)) === 0;
    await waitFor('the message', handled);
  }
  let sessions = 0;
  let now = Date.now();

  beforeEach(async () => {
    await provision(world);
    await activate(0);
  });

  const kinds = [
    [{ case: 'applyLauncherKeys', value: { configJson: '{}' } }, '2.1.1', '2.1.0'],
    [{ case: 'uninstall', value: { package: 'a.b' } }, '3.4.0', '3.3.99'],
    [{ case: 'listConnectivity', value: {} }, '2.3.1', '2.3'],
    [{ case: 'readConnectivityState', value: {} }, '2.3.1', '2.3.0'],
    [{ case: 'setConnectivityState', value: {} }, '2.3.1', '2.2.9'],
    [{ case: 'resetConnectivity', value: {} }, '2.3.1', '1.10.10'],
    [{ case: 'addPairing', value: {} }, '2.3.1', '0'],
    [{ case: 'changePairing', value: {} }, '2.3.1', '2.3.0.9'],
    [{ case: 'deletePairing', value: {} }, '2.3.1', '2.3.0'],
  ] as const;

  test.each(kinds)(
    '%j needs client %s: this version is accepted, an older version is rejected',
    async (kind, least, older) => {
      await introduce(older);
      await expect(operate(kind)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: `The device's client version ${older} is older than ${least}, which this operation needs.`,
      });
      expect(world.transactions.created).toHaveLength(1);
      await introduce(least);
      await operate(kind);
      expect(world.transactions.created.at(-1)).toMatchObject({
        operation: { kind: { case: kind.case } },
        minimumClientVersion: least,
      });
    },
  );

  test.each(kinds)(
    '%j for a headset whose version is not known yet is checked when it starts',
    async (kind, least) => {
      await operate(kind);
      expect(world.transactions.created.at(-1)?.minimumClientVersion).toBe(least);
    },
  );

  const connectivity = kinds.filter(([, least]) => least === '2.3.1');

  // proves api/6/firmware-connectivity
  test.each(connectivity)('%j needs firmware 9.001.0 as well', async (kind) => {
    for (const [client, firmware, what, minimum] of [
      ['2.3.1', '9.000.9', 'firmware version 9.000.9', '9.001.0'],
      ['2.3.0', '9.000.9', 'client version 2.3.0', '2.3.1'],
    ] as const) {
      await introduce(client, firmware);
      await expect(operate(kind)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: `The device's ${what} is older than ${minimum}, which this operation needs.`,
      });
    }
    expect(world.transactions.created).toHaveLength(1);
    for (const firmware of ['9.001.0', '9.1', '10', '']) {
      await introduce('2.3.1', firmware);
      await operate(kind);
      expect(world.transactions.created.at(-1)).toMatchObject({
        ...{ minimumClientVersion: '2.3.1', minimumFirmwareVersion: '9.001.0' },
      });
    }
  });

  test('a firmware that the headset has installed since then counts', async () => {
    const kind = { case: 'resetConnectivity', value: {} } as const;
    await introduce('2.3.1', '9.000.9');
    const inventory = { firmwareVersion: '9.002.0' };
    await publishReport({
      case: 'report',
      value: { reportId: 1n, activationEpoch: 1n, body: { case: 'inventory', value: inventory } },
    });
    await operate(kind);
    await introduce('2.3.1', '9.000.8');
    await expect(operate(kind)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test.each(kinds.filter((kind) => !connectivity.includes(kind)))(
    '%j needs no firmware',
    async (kind, least) => {
      await introduce(least, '1');
      await operate(kind);
      expect(world.transactions.created.at(-1)?.minimumFirmwareVersion).toBe('');
    },
  );

  test.each<Kind>([
    { case: 'command', value: { action: 'a' } },
    { case: 'applyApns', value: {} },
    { case: 'applyWifi', value: {} },
    { case: 'applyLanguages', value: { languages: ['ja'] } },
    { case: 'updateApp', value: { package: 'a' } },
    { case: 'updateFirmware', value: { version: '1' } },
  ])('%j goes to any client', async (kind) => {
    await introduce('0.0.1');
    await operate(kind);
    expect(world.transactions.created.at(-1)?.minimumClientVersion).toBe('');
  });

  test.each([
    ['an activation', { case: 'activate', value: {} }],
    ['a deactivation', { case: 'deactivate', value: {} }],
    ['a reset', { case: 'reset', value: {} }],
    ['nothing', { case: undefined }],
  ] as const)('%s is not an operation for this call', async (_, kind) => {
    await expect(operate(kind)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(world.transactions.created).toHaveLength(1);
  });

  test('a call without an operation is rejected', async () => {
    const nothing = world.devices.sendOperation({ caller: callerOf('app'), operationId: 'x' });
    await expect(nothing).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test.each(['', 'put-v1-applications-devices-reset', 'no-operation'])(
    'the operation, not the call, decides its operationId and the subject of “latest” (%p)',
    async (operationId) => {
      const update = { case: 'updateApp', value: { package: 'a.b', version: '2' } } as const;
      await operate(update, { operationId, subject: 'x@1' });
      expect(world.transactions.created.at(-1)).toMatchObject({
        operationId: 'put-v1-applications-devices-apps',
        subject: 'a.b@2',
      });
      await operate({ case: 'uninstall', value: { package: 'a.b' } }, { operationId, subject: 'x@1' });
      expect(world.transactions.created.at(-1)).toMatchObject({
        operationId: 'delete-v1-applications-devices-package',
        subject: '',
      });
    },
  );

  test('one Idempotency-Key, ten concurrent callers: one uninstallation', async () => {
    const kind = { case: 'uninstall', value: { package: 'a.b' } } as const;
    const caller = callerOf('app', 'key');
    const answers = await Promise.all(Array.from({ length: 10 }, () => operate(kind, { caller })));
    expect(new Set(answers.map((a) => a.transactionId)).size).toBe(1);
    expect(world.transactions.created).toHaveLength(2);
  });
});

import { rmSync } from 'node:fs';
import {
  BluetoothMode,
  ConnectivityTarget,
  HeldState,
  NetworkType,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { application, device, World } from './testing/world.ts';

const reset = 'put-v1-applications-devices-reset';
const uninstall = 'delete-v1-applications-devices-package';
const listing = 'get-v1-applications-connectivity-list';
const app = 'put-v1-applications-devices-apps';

let world: World;
beforeEach(async () => {
  world = new World();
  await world.start();
});
afterEach(async () => {
  await world.stop();
  rmSync(world.directory, { recursive: true, force: true });
});

const common = (id: number, operationId: string) => ({
  applicationId: application,
  deviceId: device,
  timestamp: expect.any(Number),
  transactionId: id,
  operationId,
});
const accepted = (id: number, operationId: string) => ({
  ...common(id, operationId),
  notificationType: 'accepted',
  result: 'success',
  message: 'The device has started the operation.',
});
const online = (sessionEpoch: bigint, held: { transactionId: bigint; state: HeldState }[] = []) =>
  world.sessions.headsetOnline({ deviceId: device, sessionEpoch, held });

describe('results with a special form', () => {
  // proves cb/3/uninstall, cb/3/op-package
  it('an uninstallation ends with its package', async () => {
    const id = await world.create({
      operationId: uninstall,
      operation: { kind: { case: 'uninstall', value: { package: 'com.example.app' } } },
    });
    await world.accept(id);
    await world.result(id, true, 'uninstall success.');
    await waitFor('both', () => world.of(id).length === 2);
    expect(world.of(id)).toEqual([
      accepted(id, uninstall),
      {
        ...common(id, uninstall),
        notificationType: 'processed',
        result: 'success',
        message: 'uninstall success.',
        package: 'com.example.app',
      },
    ]);
  });

  const list = () =>
    world.create({
      operationId: listing,
      operation: {
        kind: {
          case: 'listConnectivity',
          value: { networkType: NetworkType.BLUETOOTH, target: ConnectivityTarget.CONNECTED },
        },
      },
    });

  // proves cb/3/connectivity-list, cb/3/op-connectivity-list
  it('a connectivity list ends with the headset’s findings, also after a crash', async () => {
    const id = await list();
    await world.accept(id);
    await waitFor('accepted', () => world.of(id).length === 1);
    world.logUnavailable = true;
    const devices = [
      { mode: BluetoothMode.CONNECTED, registered: true, name: 'Speaker', alias: 'S', address: '00:11' },
    ];
    const receivedAtMs = BigInt(Date.now());
    await world.report(
      {
        case: 'result',
        value: {
          transactionId: BigInt(id),
          success: true,
          message: 'ok',
          connectivity: { statusCode: 200, devices },
        },
      },
      1n,
      { occurredAtMs: receivedAtMs - 7n, receivedAtMs },
    );
    await waitFor('the end', async () => (await world.status(id)) === 'PROCESSED');
    await world.stop();
    world.logUnavailable = false;
    await world.start();
    await waitFor('both', () => world.of(id).length === 2);
    expect(world.of(id)).toEqual([
      accepted(id, listing),
      {
        ...common(id, listing),
        timestamp: Number(receivedAtMs) - 7,
        message: 'ok',
        networkType: 'bluetooth',
        target: 'connected',
        statusCode: 200,
        devices: [
          { status: { mode: 'connected', registered: true }, name: 'Speaker', alias: 'S', address: '00:11' },
        ],
      },
    ]);
  });

  it('a result without findings is a 500 in the same form; a cancellation has the general form', async () => {
    const id = await list();
    await world.accept(id);
    await world.result(id, false, 'no radio');
    const other = await list();
    await world.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
    await waitFor('all', () => world.of(id).length === 2 && world.of(other).length === 1);
    expect(world.of(id)[1]).toEqual({
      ...common(id, listing),
      message: 'no radio',
      networkType: 'bluetooth',
      target: 'connected',
      statusCode: 500,
      devices: [],
    });
    expect(world.of(other)).toEqual([
      {
        ...common(other, listing),
        notificationType: 'processed',
        result: 'failure',
        message: 'The transaction was canceled by a cancel request.',
      },
    ]);
  });

  it('an app’s answer changes only a command, no other operation', async () => {
    const id = await list();
    await world.accept(id);
    const value = { transactionId: BigInt(id), success: true, message: 'm', customData: 'd' };
    await world.report({ case: 'appAnswer', value });
    await world.result(id, false, 'no radio');
    await world.report({ case: 'appAnswer', value }, 2n);
    const behind = await world.create();
    await world.result(behind);
    await waitFor('all', () => world.of(id).length === 2 && world.of(behind).length === 1);
    expect(world.of(id).map((b) => [b['notificationType'], b['statusCode'], b['message']])).toEqual([
      ['accepted', undefined, 'The device has started the operation.'],
      [undefined, 500, 'no radio'],
    ]);
  });

  it('texts from headsets are cut to their limits: messages and an app’s data', async () => {
    const id = await world.create();
    await world.result(id, true, 'm'.repeat(1025));
    const value = {
      transactionId: BigInt(id),
      success: true,
      message: 'a'.repeat(1025),
      customData: 'd'.repeat(65_537),
    };
    await world.report({ case: 'appAnswer', value }, 2n);
    await waitFor('both', () => world.of(id).length === 2);
    expect(world.of(id).map((b) => b['message'])).toEqual(['m'.repeat(1024), 'a'.repeat(1024)]);
    expect(world.of(id)[1]?.['customData']).toBe('d'.repeat(65_536));
  });
});

describe('a headset whose client is too old', () => {
  const message = "The device's client version 3.3.9 is older than 3.4.0, which this operation needs.";
  const operation = { kind: { case: 'uninstall' as const, value: { package: 'p' } } };

  // proves api/6/client-connectivity, api/6/client-launcher, api/6/client-uninstall
  it('does not start an operation that needs a newer client; the operation fails with both versions', async () => {
    const id = await world.create({ operationId: uninstall, minimumClientVersion: '3.4.0', operation });
    expect(await world.accept(id, 1n, '3.3.9')).toMatchObject({ start: false, dropReason: message });
    // The headset requests the start again after a lost answer, and gets the same answer.
    expect(await world.accept(id, 1n, '3.3.9')).toMatchObject({ start: false, dropReason: message });
    expect(await world.accept(id, 2n, '3.4.0')).toMatchObject({ start: false, dropReason: message });
    expect(await world.status(id)).toBe('PROCESSED');
    await waitFor('the end', () => world.of(id).length === 1);
    expect(world.of(id)).toEqual([
      {
        ...common(id, uninstall),
        notificationType: 'processed',
        result: 'failure',
        message,
        package: 'p',
      },
    ]);
  });

  it('ends a connectivity operation in its form', async () => {
    const id = await world.create({
      operationId: 'put-v1-applications-connectivity-state',
      minimumClientVersion: '2.3.1',
      operation: {
        kind: {
          case: 'setConnectivityState',
          value: { networkType: NetworkType.BLUETOOTH, enabled: true },
        },
      },
    });
    await world.accept(id, 1n, '2.3.0');
    await waitFor('the end', () => world.of(id).length === 1);
    expect(world.of(id)).toEqual([
      {
        ...common(id, 'put-v1-applications-connectivity-state'),
        message: "The device's client version 2.3.0 is older than 2.3.1, which this operation needs.",
        networkType: 'bluetooth',
        statusCode: 500,
        state: 'unknown',
      },
    ]);
  });

  it.each(['3.4.0', '3.4.1', '10'])(
    'does not include version %s, which starts the operation, even if it requests the start twice',
    async (version) => {
      const id = await world.create({ operationId: uninstall, minimumClientVersion: '3.4.0', operation });
      expect(await world.accept(id, 1n, version)).toMatchObject({ start: true });
      expect(await world.accept(id, 1n, version)).toMatchObject({ start: true });
      expect(await world.status(id)).toBe('ACCEPTED');
      await waitFor('the callback', () => world.of(id).length === 1);
    },
  );

  // proves api/6/firmware-connectivity
  it('includes a firmware that is too old: the operation fails with both versions, and starts on a newer firmware', async () => {
    const create = () =>
      world.create({
        operationId: 'delete-v1-applications-connectivity-reset',
        ...{ minimumClientVersion: '2.3.1', minimumFirmwareVersion: '9.001.0' },
        operation: { kind: { case: 'resetConnectivity', value: { networkType: NetworkType.BLUETOOTH } } },
      });
    const old = "The device's firmware version 9.000.9 is older than 9.001.0, which this operation needs.";
    const id = await create();
    expect(await world.accept(id, 1n, '2.3.1', '9.000.9')).toMatchObject({ start: false, dropReason: old });
    expect(await world.accept(id, 2n, '2.3.1', '9.001.0')).toMatchObject({ start: false, dropReason: old });
    expect(await world.status(id)).toBe('PROCESSED');
    await waitFor('the end', () => world.of(id).length === 1);
    expect(world.of(id)[0]).toMatchObject({ message: old, statusCode: 500 });
    const unknown = await create();
    expect(await world.accept(unknown, 2n, '2.3.1', '')).toMatchObject({ start: false });
    const right = await create();
    for (let i = 0; i < 2; i++) {
      expect(await world.accept(right, 2n, '2.3.1', '9.1')).toMatchObject({ start: true });
    }
    expect(await world.status(right)).toBe('ACCEPTED');
  });

  it('gets a canceled operation below the minimum activation epoch dropped, with any version', async () => {
    const id = await world.create({ operationId: uninstall, minimumClientVersion: '3.4.0', operation });
    await world.create({ operationId: reset, activationEpoch: 2n, raisesFloor: FloorReason.RESET });
    for (const version of ['3.3.9', '3.4.0']) {
      expect(await world.accept(id, 1n, version)).toMatchObject({
        start: false,
        dropReason: 'The transaction was canceled because it occurred before reset.',
      });
    }
  });
});

describe('a reset', () => {
  const create = () =>
    world.create({
      operationId: reset,
      activationEpoch: 2n,
      raisesFloor: FloorReason.RESET,
      operation: { kind: { case: 'reset', value: { applicationId: application } } },
    });
  const processed = (id: number, result: string, message: string) => ({
    ...common(id, reset),
    notificationType: 'processed',
    result,
    message,
  });
  /** An accepted reset, sent to session 5. */
  const started = async () => {
    const id = await create();
    expect(await world.accept(id, 5n)).toMatchObject({ start: true });
    await waitFor('accepted', () => world.of(id).length === 1);
    return id;
  };
  const held = (id: number, state: HeldState) => [{ transactionId: BigInt(id), state }];
  /** Waits until all reports published before are consumed. */
  const consumed = async () => {
    const id = await world.create({ activationEpoch: 2n });
    await world.result(id);
    await waitFor('a result behind', async () => (await world.status(id)) === 'PROCESSED');
  };

  // proves api/4/reset-cancels, cb/8/cancel-reset
  it('cancels earlier unprocessed transactions with its message', async () => {
    const early = await world.create();
    const id = await create();
    await waitFor('the callback', () => world.of(early).length === 1);
    expect(world.of(early)[0]?.['message']).toBe(
      'The transaction was canceled because it occurred before reset.',
    );
    expect(await world.status(id)).not.toBe('CANCELED');
  });

  it('is processed by the next hello of a headset that no longer holds it', async () => {
    const id = await started();
    expect((await online(6n)).offers).toEqual([]);
    await world.hello(6n);
    await waitFor('the end', () => world.of(id).length === 2);
    await world.hello(7n);
    await world.result(id, false, 'late');
    await consumed();
    expect(world.of(id)).toEqual([accepted(id, reset), processed(id, 'success', 'reset success.')]);
    expect(await world.status(id)).toBe('PROCESSED');
  });

  it('is ended by a result before the hello, even by a failure', async () => {
    const id = await started();
    // The log keeps this order, even if the events are consumed late.
    await world.result(id, false, 'The wipe failed.');
    await world.hello(6n);
    await consumed();
    expect(world.of(id)).toEqual([accepted(id, reset), processed(id, 'failure', 'The wipe failed.')]);
  });

  it.each([HeldState.OFFERED, HeldState.STARTED])(
    'continues while the headset holds it (%d)',
    async (state) => {
      const id = await started();
      for (let epoch = 6n; epoch < 12n; epoch += 1n) {
        const { offers, startTransactionIds, dropTransactionIds } = await online(epoch, held(id, state));
        const started = state === HeldState.STARTED;
        expect(offers.map((o) => [Number(o.transactionId), o.attempt])).toEqual(started ? [] : [[id, 0]]);
        expect(startTransactionIds.map(Number)).toEqual(started ? [id] : []);
        expect(dropTransactionIds).toEqual([]);
        await world.hello(epoch, held(id, state));
      }
      await consumed();
      expect(await world.status(id)).toBe('ACCEPTED');
      expect(await world.accept(id, 11n)).toMatchObject({ start: true });
      await world.hello(12n);
      await waitFor('the end', () => world.of(id).length === 2);
    },
  );

  it('stays open for its report if the headset holds it as finished', async () => {
    const id = await started();
    const { offers, dropTransactionIds } = await online(6n, held(id, HeldState.FINISHED));
    expect([offers, dropTransactionIds]).toEqual([[], []]);
    await world.hello(6n, held(id, HeldState.FINISHED));
    await consumed();
    expect(await world.status(id)).toBe('ACCEPTED');
    await world.result(id, true, 'wiped');
    await waitFor('the end', () => world.of(id).length === 2);
    expect(world.of(id)[1]).toEqual(processed(id, 'success', 'wiped'));
  });

  it('is not ended by the session that it was sent to, nor by a late hello of an older session', async () => {
    const id = await started();
    await online(5n);
    await world.hello(5n);
    await world.hello(4n);
    await consumed();
    expect(await world.status(id)).toBe('ACCEPTED');
  });

  it('that was not accepted is sent again, like any other operation', async () => {
    const id = await create();
    await world.hello(6n);
    expect((await online(6n)).offers.map((o) => Number(o.transactionId))).toEqual([id]);
    await world.hello(7n);
    expect((await online(7n)).offers.map((o) => [Number(o.transactionId), o.attempt])).toEqual([[id, 1]]);
    expect(await world.status(id)).toBe('PUBLISHED');
  });
});

describe('the latest update', () => {
  // proves api/4/latest-updates, api/4/resend-latest, cb/8/cancel-newer
  it('is determined per package and version', async () => {
    const first = await world.create({ operationId: app, subject: 'a@1.0' });
    const other = await world.create({ operationId: app, subject: 'a@1.1' });
    const again = await world.create({ operationId: app, subject: 'a@1.0' });
    expect((await online(1n)).offers.map((o) => Number(o.transactionId))).toEqual([other, again]);
    await waitFor('the cancellation', () => world.of(first).length === 1);
    expect(world.of(first)).toEqual([
      {
        ...common(first, app),
        notificationType: 'processed',
        result: 'failure',
        message: 'The transaction was canceled because there is a new transaction.',
      },
    ]);
  });
});

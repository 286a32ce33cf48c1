import { topics } from '@headset-cloud/eventlog/types.ts';
import { raiseStep } from '@headset-cloud/rules/raised.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { raiseDevices } from './store/raise.ts';
import { notifications, report, usage } from './testing/reports.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

// ADR 0035
describe('a database that was restored from a backup, after its counters were advanced', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
    await provision(world);
    await provision(world, { name: 'other' });
  });
  afterEach(() => world.close());

  const device = { deviceId: imei(0) };
  const activate = (application: string) =>
    world.devices.activateDevice({ caller: callerOf(application), ...device, clientId: application });
  const deactivate = (application: string) =>
    world.devices.deactivateDevice({ caller: callerOf(application), ...device });
  const raise = (dryRun = false) => raiseDevices({ store: world.store, nowMs: Date.now(), dryRun });
  const current = async (deviceId = imei(0)) =>
    (await world.keys.getCurrentActivation({ deviceId })).activation;
  const above = (epoch: number, raises = 1) => BigInt(epoch + raises * raiseStep);
  /** The applications that are notified of signals of these epochs. */
  const notified = async (...epochs: number[]) => {
    const known = (await notifications(world)).length;
    await world.log.publish(
      topics.deviceReports,
      epochs.map((activationEpoch) => report({ case: 'signal', value: { level: 3 } }, { activationEpoch })),
    );
    await waitFor('the reports', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
    return (await notifications(world)).slice(known).map(({ applicationId }) => applicationId);
  };

  it('activation epochs are above all epochs that headsets know, after each advance; a dry run changes nothing', async () => {
    await activate('app');
    expect(await raise(true)).toEqual({ devices: 3, activated: 1 });
    expect(await current()).toMatchObject({ epoch: 1n });
    expect(await raise()).toEqual({ devices: 3, activated: 1 });
    expect(await current()).toMatchObject({ epoch: above(1), sinceEpoch: above(1), applicationId: 'app' });
    expect(await current(imei(1))).toMatchObject({ epoch: above(0), applicationId: '' });
    await raise();
    expect(await current()).toMatchObject({ epoch: above(1, 2), sinceEpoch: above(1, 2) });
  });

  it('so are the epochs of devices that are registered afterwards', async () => {
    await raise();
    await world.admin.putDevice({ deviceId: imei(99) });
    expect(await current(imei(99))).toMatchObject({ epoch: above(0) });
  });

  it('an application gets reports of its own epochs, not of the epochs since the backup, which may belong to another application', async () => {
    await activate('app');
    await world.devices.resetDevice({ caller: callerOf('app'), ...device });
    await raise();
    await raise();
    const now = Number(above(2, 2));
    expect(await notified(1, 2)).toEqual(['app', 'app']);
    expect(await notified(3, Number(above(3)))).toEqual([]);
    expect(await notified(now)).toEqual(['app']);
    // The same application again, with another client id, has no further effect.
    await activate('app');
    expect(await notified(2)).toEqual(['app']);
  });

  it('after a deactivation it gets none of these reports, and is charged for its own epochs', async () => {
    await activate('app');
    await raise();
    await deactivate('app');
    await activate('other');
    expect(await notified(1, Number(above(1)))).toEqual([]);
    const used = { startedAtMs: 1_799_999_000_000n, durationMs: 1000n };
    await world.log.publish(
      topics.deviceReports,
      [1, 2].map((activationEpoch) =>
        report({ case: 'speechUsage', value: used }, { activationEpoch, receivedAtMs: 1_800_000_000_000 }),
      ),
    );
    await waitFor('the usage', async () => (await usage(world)).length > 0);
    await waitFor('the reports', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
    expect((await usage(world)).map(({ applicationId }) => applicationId)).toEqual(['app']);
  });

  it('an activation that was canceled before the backup, or is canceled afterwards, is undone', async () => {
    const [one, two] = [imei(0), imei(1)];
    const of = async (deviceId: string) =>
      (await world.devices.activateDevice({ caller: callerOf('app'), deviceId, clientId: deviceId }))
        .transactionId;
    const ids = { [one]: await of(one), [two]: await of(two) };
    world.cutAt = 'after store devices.devices.activation';
    const undo = (deviceId: string) =>
      world.devices.undoActivation({ deviceId, transactionId: ids[deviceId] as bigint });
    await expect(undo(one)).rejects.toMatchObject({ code: 'internal' });
    await raise();
    await undo(one);
    await undo(two);
    expect(await current(one)).toMatchObject({ epoch: above(2), applicationId: '' });
    expect(await current(two)).toMatchObject({ epoch: above(2), applicationId: '' });
    expect(world.transactions.ended).toEqual([
      [one, Number(above(2))],
      [two, Number(above(2))],
    ]);
  });

  it('pending work of a change continues, at the advanced epoch', async () => {
    world.cutAt = 'after store devices.devices.activation';
    await activate('app').catch(() => {});
    world.cutAt = undefined;
    await raise();
    await activate('app');
    const made = world.transactions.created.map(({ epoch }) => BigInt(epoch));
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made)).toEqual(new Set([above(1)]));
  });
});

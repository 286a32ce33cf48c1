import { raiseStep } from '@headset-cloud/rules/raised.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { raiseDeviceLink, runningInstance } from './store/raise.ts';
import { deviceId, type Instance, offer, otherDeviceId, passUntil, World } from './testing/world.ts';

// ADR 0035
describe('a database that was restored from a backup and raised', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  const raise = (dryRun = false) => raiseDeviceLink({ store: world.bed.store, nowMs: 0, dryRun });
  const online = async (at: Instance, id = deviceId) => {
    const headset = world.dial(at, { id, hello: {} });
    return { headset, epoch: Number((await headset.next('welcome')).sessionEpoch) };
  };

  it('uses session epochs above all earlier ones, also for headsets without a document', async () => {
    const before = await world.start();
    await online(before);
    await before.service.stop();
    expect(await raise(true)).toEqual({ sessionEpochsAbove: raiseStep });
    await raise();
    await raise();
    const instance = await world.start();
    expect((await online(instance)).epoch).toBe(2 * raiseStep + 2);
    expect((await online(instance, otherDeviceId)).epoch).toBe(2 * raiseStep + 1);
  });

  it('finds, ends and reports sessions by their raised epochs', async () => {
    await raise();
    const [a, b] = [
      await world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: 200 }),
      await world.start({ DEVICE_LINK_OFFLINE_AFTER_MS: 200 }),
    ];
    const { headset, epoch } = await online(a);
    expect(await b.dispatch(deviceId, offer(1))).toEqual([BigInt(epoch)]);
    expect(await a.dispatch(deviceId, offer(2))).toEqual([BigInt(epoch)]);
    const presence = async () => (await b.delivery.getPresence({ deviceIds: [deviceId] })).sessionEpochs;
    expect(await presence()).toEqual({ [deviceId]: BigInt(epoch) });
    await headset.next('offer');
    headset.close();
    const offline = await waitFor('the offline report', async () =>
      (await world.reports('device-reports')).find(({ body }) => body.case === 'offline'),
    );
    expect(Number(offline.sessionEpoch)).toBe(epoch);
    expect(await presence()).toEqual({});
    const stored = () => world.bed.store.collection<{ _id: string }>('sessions').findOne({ _id: deviceId });
    await waitFor('the end of the count', async () => !('endedOn' in ((await stored()) ?? { endedOn: 'a' })));
  });

  it('has a running instance only if a beat rises: a lease from the backup does not count', async () => {
    const { store } = world.bed;
    const time = createFakeTime();
    const instance = await world.start({}, undefined, time, time);
    const { timers } = time;
    // Time passes only while `runningInstance` waits, so that no beat is late.
    const looks = () => time.timers > timers;
    const found = await passUntil(time, runningInstance(store, time, time), looks);
    expect(found).toMatch(/^127\.0\.0\.1:/);
    await passUntil(time, instance.service.stop());
    const expiresAt = new Date(time.now() + 15_000);
    const lease = { _id: 'of the backup', address: 'gone:1', beat: 7, expiresAt };
    await store.collection('instances').insertOne(lease as never);
    expect(await passUntil(time, runningInstance(store, time, time))).toBeUndefined();
    expect(time.now()).toBeGreaterThanOrEqual(expiresAt.getTime());
  });
});

import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';
import { type Displacement, Displacements } from './displacements.ts';

/** Two headsets with one identity displace each other's sessions, each 30 s after the other. */

const retryMs = 30_000;

describe('a device whose sessions displace each other', () => {
  let world: World;
  let time: FakeTime;
  let instance: Instance;
  beforeEach(async () => {
    world = new World();
    time = createFakeTime(Date.now());
    instance = await world.start({}, undefined, time, time);
  });
  afterEach(() => world.close());

  const lines = () => world.lines.filter(({ msg }) => String(msg).startsWith('two headsets probably'));
  const counted = async (reason: string) => {
    const text = await world.metrics.getSingleMetricAsString('headset_sessions_displaced_total');
    return Number(new RegExp(`reason="${reason}"\\} (\\d+)`).exec(text)?.[1]);
  };
  /** `sharedIdentity` of the published hellos, oldest first. */
  const reported = async (many: number) =>
    waitFor('the hellos', async () => {
      const events = await world.reports();
      return events.length === many && events.map(({ sharedIdentity }) => sharedIdentity);
    });

  // protects against headsets/copied-identity
  it('is counted by reason, logged once in an hour, and reported with its hellos', async () => {
    let last = world.dial(instance, { hello: {} });
    await last.next('welcome');
    for (let n = 1; n <= 12; n += 1) {
      await reported(n);
      await time.advance(retryMs);
      // The headset has corrected its clock by the server's time.
      world.clock.offsetMs += retryMs;
      const next = world.dial(instance, { hello: {} });
      await next.next('welcome');
      expect((await last.next('goAway')).reason).toBe(GoAwayReason.SUPERSEDED);
      last = next;
    }
    const flags = await reported(13);
    expect(flags).toEqual([...Array.from({ length: 10 }, () => false), true, true, true]);
    expect(await counted('reconnect')).toBe(9);
    expect(await counted('shared_identity')).toBe(3);
    expect(lines()).toEqual([expect.objectContaining({ deviceId, level: 40 })]);
  });

  it('is not counted if each session ended before the next one began', async () => {
    for (let n = 1; n <= 12; n += 1) {
      const headset = world.dial(instance, { hello: {} });
      await headset.next('welcome');
      await reported(n);
      headset.close();
      await waitFor('the end of the session', async () => {
        const stored = await world.bed.store
          .collection<{ _id: string }>('sessions')
          .findOne({ _id: deviceId });
        return stored && !('instanceId' in stored);
      });
    }
    expect(await counted('reconnect')).toBe(0);
    expect(await counted('shared_identity')).toBe(0);
    expect(lines()).toEqual([]);
  });
});

describe('displacements', () => {
  let time: FakeTime;
  let counted: Displacement[];
  let shared: string[];
  let displacements: Displacements;
  beforeEach(() => {
    time = createFakeTime();
    counted = [];
    shared = [];
    displacements = new Displacements({
      clock: time,
      count: (why) => counted.push(why),
      onShared: (id) => shared.push(id),
    });
  });

  it('of nine an hour are counted as reconnects, for any number of hours', async () => {
    for (let n = 0; n < 100; n += 1) {
      expect(displacements.add('1')).toBe(false);
      await time.advance(400_001);
    }
    expect(shared).toEqual([]);
    expect(new Set(counted)).toEqual(new Set(['reconnect']));
  });

  it('of two copies are reported once an hour while they continue', async () => {
    const flags: boolean[] = [];
    for (let n = 0; n < 360; n += 1) {
      flags.push(displacements.add('1'));
      await time.advance(retryMs);
    }
    expect(flags.indexOf(true)).toBe(9);
    expect(flags.slice(9)).not.toContain(false);
    expect(shared).toEqual(['1', '1', '1']);
  });

  it('are counted per device, for the ten thousand newest devices', () => {
    for (let n = 0; n < 9; n += 1) displacements.add('1');
    for (let n = 0; n < 10_000; n += 1) displacements.add(`other ${n}`);
    expect(displacements.add('1')).toBe(false);
    for (let n = 0; n < 8; n += 1) displacements.add('1');
    expect(displacements.add('1')).toBe(true);
    expect(shared).toEqual(['1']);
  });
});

import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { limits } from '../domain/limits.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';

/** A reconciliation that leaves out operations (transactions/v1/service.proto, HeadsetOnlineResponse). */
describe('offers whose operations are read just before they are sent', () => {
  let world: World;
  let instance: Instance;
  const whole = (id: number) => ({ transactionId: BigInt(id), operation: {} });
  const bare = (id: number) => ({ transactionId: BigInt(id) });
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

  beforeEach(async () => {
    world = new World();
    instance = await world.start();
  });
  afterEach(() => world.close());

  it('are sent in order with the others, each read once, in several reads', async () => {
    const all = range(1, 100);
    world.onOnline = async ({ readsOffers }) => {
      expect(readsOffers).toBe(true);
      return { offers: all.map((id) => (id <= 2 ? whole(id) : bare(id))) };
    };
    // Like the answer for large operations: fewer than requested.
    world.onRead = async ({ transactionIds }) => {
      const answered = transactionIds.slice(0, 10);
      return { offers: answered.map((id) => whole(Number(id))), answered: answered.length };
    };
    const headset = world.dial(instance, { hello: {} });
    for (const id of all) {
      await waitFor('the offer', () => headset.ids('offer').includes(id));
      headset.ready(id);
    }
    expect(headset.ids('offer')).toEqual(all);
    expect(world.reads.every((read) => read.deviceId === deviceId)).toBe(true);
    for (const { transactionIds } of world.reads) {
      expect(transactionIds.length).toBeLessThanOrEqual(limits.maxOffersRead);
    }
    expect(world.reads.map(({ transactionIds }) => Number(transactionIds[0]))).toEqual(
      range(0, 9).map((n) => 3 + 10 * n),
    );
  });

  it('are not read beyond the limit of unanswered offers', async () => {
    const all = range(1, limits.maxInFlightOffers + 40);
    world.onOnline = async () => ({ offers: all.map(bare) });
    const headset = world.dial(instance, { hello: {} });
    await waitFor('a full window', () => headset.ids('offer').length === limits.maxInFlightOffers);
    expect(world.reads.flatMap(({ transactionIds }) => transactionIds).length).toBe(limits.maxInFlightOffers);
  });

  it('are left out if they have ended, and a failed read is retried', async () => {
    world.onOnline = async () => ({ offers: [1, 2, 3].map(bare) });
    let failures = 2;
    world.onRead = async ({ transactionIds }) => {
      if (failures-- > 0) throw new DomainError('unavailable', 'away');
      return { offers: [whole(1), whole(3)], answered: transactionIds.length };
    };
    const headset = world.dial(instance, { hello: {} });
    await waitFor('the offers', () => headset.ids('offer').includes(3));
    expect(headset.ids('offer')).toEqual([1, 3]);
  });

  it('include dispatched operations that are too large to stay in memory', async () => {
    const window = range(1, limits.maxInFlightOffers);
    const text = 'x'.repeat(limits.maxOfferBytesInMemory);
    const large = (id: number) => ({
      transactionId: BigInt(id),
      operation: { kind: { case: 'command' as const, value: { package: text } } },
    });
    world.onRead = async ({ transactionIds }) => ({
      offers: transactionIds.map((id) => whole(Number(id))),
      answered: transactionIds.length,
    });
    const headset = world.dial(instance, { hello: {} });
    await headset.next('welcome');
    await instance.dispatch(deviceId, ...window.map(whole));
    await waitFor('a full window', () => headset.ids('offer').length === window.length);
    const behind = range(window.length + 1, window.length + 4);
    await instance.dispatch(deviceId, ...behind.map(large));
    expect(world.reads).toEqual([]);
    for (const id of window) headset.ready(id);
    await waitFor('all of them', () => headset.ids('offer').length === window.length + behind.length);
    expect(headset.ids('offer')).toEqual([...window, ...behind]);
    // The next one stayed in memory.
    const read = world.reads.flatMap(({ transactionIds }) => transactionIds.map(Number));
    expect(read).toEqual(behind.slice(1));
  });
});

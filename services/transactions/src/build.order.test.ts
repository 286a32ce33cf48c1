import { rmSync } from 'node:fs';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { device, World } from './testing/world.ts';

// by rule A11: several commands all run, in order
describe('the previous operation in a dispatch', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    // The sweeper does not dispatch during these tests.
    await world.start({ TRANSACTIONS_LEFTOVER_AFTER_MS: '600000' });
    world.online.set(device, 1n);
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const previousOf = async (id: number) => {
    await waitFor('the dispatch', () => world.dispatched.includes(id));
    return world.previous[world.dispatched.lastIndexOf(id)];
  };

  /** Creates a transaction whose dispatch fails. */
  const createUndispatched = async (transactionId?: bigint) => {
    world.linkUnavailable = true;
    const id = await world.create(transactionId === undefined ? {} : { transactionId });
    await waitFor('the failed dispatch', () => world.failedDispatches === 1);
    world.linkUnavailable = false;
    return id;
  };

  it('is the operation created before, in any state; the reconciliation returns the last operation', async () => {
    const first = await world.create();
    expect(await previousOf(first)).toBe(0);
    const lost = await createUndispatched();
    const next = await world.create();
    expect(await previousOf(next)).toBe(lost);
    expect(world.dispatched).not.toContain(lost);
    expect(await world.reconciledThrough(1n)).toBe(next);
  });

  it('follows the order of creation, not of the ids', async () => {
    const [low, high] = [900n, 901n];
    await world.create({ transactionId: high });
    await world.create({ transactionId: low });
    const next = await world.create({ transactionId: 902n });
    expect(await previousOf(Number(low))).toBe(Number(high));
    expect(await previousOf(next)).toBe(Number(low));
  });

  it('does not change when a create is repeated after another create', async () => {
    const first = await world.create({ transactionId: 700n });
    await previousOf(first);
    const lost = await createUndispatched();
    await world.create({ transactionId: 700n });
    const next = await world.create();
    expect(await previousOf(next)).toBe(lost);
  });

  it('is dispatched by a repeated create if the process that stored the transaction died before the dispatch', async () => {
    const id = await createUndispatched(700n);
    expect(await world.create({ transactionId: 700n })).toBe(id);
    expect(await previousOf(id)).toBe(0);
    await waitFor('the mark', async () => (await world.status(id)) === 'PUBLISHED');
    await world.create({ transactionId: 700n });
    const next = await world.create();
    await previousOf(next);
    expect(world.dispatched.filter((one) => one === id)).toHaveLength(1);
  });
});

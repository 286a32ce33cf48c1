import { rmSync } from 'node:fs';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { device, World } from './testing/world.ts';

// by rule A11: several commands all run, in order
describe('what device-link is told about the order of operations', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    // Nothing here is left to the sweeper.
    await world.start({ TRANSACTIONS_LEFTOVER_AFTER_MS: '600000' });
    world.online.set(device, 1n);
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const handedOver = async (id: number) => {
    await waitFor('the hand-over', () => world.delivered.includes(id));
    return world.previous[world.delivered.lastIndexOf(id)];
  };

  /** Creates a transaction whose hand-over fails. */
  const createInVain = async (transactionId?: bigint) => {
    world.linkAway = true;
    const id = await world.create(transactionId === undefined ? {} : { transactionId });
    await waitFor('the vain hand-over', () => world.refused === 1);
    world.linkAway = false;
    return id;
  };

  it('names the operation before, whatever its state, and the last one a session was judged for', async () => {
    const first = await world.create();
    expect(await handedOver(first)).toBe(0);
    const lost = await createInVain();
    const next = await world.create();
    expect(await handedOver(next)).toBe(lost);
    expect(world.delivered).not.toContain(lost);
    expect(await world.judgedThrough(1n)).toBe(next);
  });

  it('is the order of creation, not that of the ids', async () => {
    const [low, high] = [900n, 901n];
    await world.create({ transactionId: high });
    await world.create({ transactionId: low });
    const next = await world.create({ transactionId: 902n });
    expect(await handedOver(Number(low))).toBe(Number(high));
    expect(await handedOver(next)).toBe(Number(low));
  });

  it('does not change when a create is repeated after another one', async () => {
    const first = await world.create({ transactionId: 700n });
    await handedOver(first);
    const lost = await createInVain();
    await world.create({ transactionId: 700n });
    const next = await world.create();
    expect(await handedOver(next)).toBe(lost);
  });

  it('is told when a create is repeated because the process that stored it died before the hand-over', async () => {
    const id = await createInVain(700n);
    expect(await world.create({ transactionId: 700n })).toBe(id);
    expect(await handedOver(id)).toBe(0);
    await waitFor('the mark', async () => (await world.status(id)) === 'PUBLISHED');
    await world.create({ transactionId: 700n });
    const next = await world.create();
    await handedOver(next);
    expect(world.delivered.filter((one) => one === id)).toHaveLength(1);
  });
});

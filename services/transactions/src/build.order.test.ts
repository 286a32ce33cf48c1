import { rmSync } from 'node:fs';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { device, Harness } from './testing/harness.ts';

// by rule A11: several commands all run, in order
describe('what device-link is told about the order of operations', () => {
  let h: Harness;
  beforeEach(async () => {
    h = new Harness();
    // Nothing here is left to the sweeper.
    await h.start({ TRANSACTIONS_LEFTOVER_AFTER_MS: '600000' });
    h.online.set(device, 1n);
  });
  afterEach(async () => {
    await h.stop();
    rmSync(h.directory, { recursive: true, force: true });
  });

  const handedOver = async (id: number) => {
    await waitFor('the hand-over', () => h.delivered.includes(id));
    return h.previous[h.delivered.lastIndexOf(id)];
  };

  /** Creates a transaction whose hand-over fails. */
  const createInVain = async (transactionId?: bigint) => {
    h.linkAway = true;
    const id = await h.create(transactionId === undefined ? {} : { transactionId });
    await waitFor('the vain hand-over', () => h.refused === 1);
    h.linkAway = false;
    return id;
  };

  it('names the operation before, whatever its state, and the last one a session was judged for', async () => {
    const first = await h.create();
    expect(await handedOver(first)).toBe(0);
    const lost = await createInVain();
    const next = await h.create();
    expect(await handedOver(next)).toBe(lost);
    expect(h.delivered).not.toContain(lost);
    expect(await h.judgedThrough(1n)).toBe(next);
  });

  it('is the order of creation, not that of the ids', async () => {
    const [low, high] = [900n, 901n];
    await h.create({ transactionId: high });
    await h.create({ transactionId: low });
    const next = await h.create({ transactionId: 902n });
    expect(await handedOver(Number(low))).toBe(Number(high));
    expect(await handedOver(next)).toBe(Number(low));
  });

  it('is told when a create is repeated because the process that stored it died before the hand-over', async () => {
    const id = await createInVain(700n);
    expect(await h.create({ transactionId: 700n })).toBe(id);
    expect(await handedOver(id)).toBe(0);
    await waitFor('the mark', async () => (await h.status(id)) === 'PUBLISHED');
    await h.create({ transactionId: 700n });
    const next = await h.create();
    await handedOver(next);
    expect(h.delivered.filter((one) => one === id)).toHaveLength(1);
  });
});

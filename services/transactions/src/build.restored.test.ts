import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { raiseStep } from '@headset-cloud/rules/raised.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { cancelMessages } from './domain/state.ts';
import { raiseTransactions } from './store/raise.ts';
import { World } from './testing/world.ts';

// ADR 0035
describe('a database that was restored from a backup, after its counters were advanced', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const raise = async (dryRun = false) => {
    const report = await raiseTransactions({ store: world.bed.store, nowMs: Date.now(), dryRun });
    // The service starts afterwards, so it has no reserved ids.
    await world.stop();
    await world.start();
    return report;
  };
  const published = async () => {
    const id = await world.create();
    await waitFor('the dispatch', async () => (await world.status(id)) === 'PUBLISHED');
    return id;
  };
  const revoked = (id: number) =>
    world.report({ case: 'revoked', value: { transactionId: BigInt(id) } }, 50n);

  it('gives ids above all ids ever given, after each advance; a dry run changes nothing', async () => {
    const id = await world.create();
    const planned = await raise(true);
    expect(planned).toMatchObject({ askedBack: 1 });
    expect(await world.create()).toBeLessThan(raiseStep);
    expect(await raise()).toMatchObject({ askedBack: 2 });
    const next = await world.create();
    expect(next).toBeGreaterThan(id + raiseStep - 1);
    await raise();
    expect(await world.create()).toBeGreaterThan(next + raiseStep - 1);
  });

  it('revokes waiting transactions in the next session; the headset’s answer ends them', async () => {
    const [done, undone] = [await published(), await published()];
    await raise();
    expect(await world.reconcileOnline(1n)).toMatchObject({
      offers: [
        [done, 0],
        [undone, 0],
      ],
    });
    expect(await world.accept(done)).toMatchObject({ start: false, revoke: true });
    expect(await world.accept(undone)).toMatchObject({ start: false, revoke: true });
    expect(await world.status(done)).toBe('PUBLISHED');
    await world.result(done);
    await revoked(undone);
    await waitFor('both ends', () => world.of(done).length === 1 && world.of(undone).length === 1);
    expect(await world.status(done)).toBe('PROCESSED');
    expect(await world.status(undone)).toBe('CANCELED');
    expect(world.of(undone)[0]).toMatchObject({ message: cancelMessages.retryLimit });
  });

  it('revokes started transactions, and cancels transactions that are only offered', async () => {
    const [started, offered] = [await published(), await published()];
    await raise();
    const held = [
      { transactionId: BigInt(started), state: HeldState.STARTED },
      { transactionId: BigInt(offered), state: HeldState.OFFERED },
    ];
    expect(await world.reconcileOnline(1n, { held })).toEqual({
      ...{ offers: [], starts: [], drops: [offered] },
      revocations: [[started, cancelMessages.retryLimit]],
    });
    await waitFor('the cancellation', async () => (await world.status(offered)) === 'CANCELED');
  });

  it('cancels waiting transactions at once if the client does not support revoke', async () => {
    const id = await published();
    await raise();
    expect(await world.reconcileOnline(1n, { knowsRevoke: false })).toMatchObject({ offers: [] });
    await waitFor('the cancellation', async () => (await world.status(id)) === 'CANCELED');
  });

  it('does not check the minimum versions of a transaction to revoke', async () => {
    const id = await world.create({ minimumClientVersion: '9.0.0' });
    await raise();
    await world.reconcileOnline(1n);
    expect(await world.accept(id)).toMatchObject({ start: false, revoke: true });
  });

  it('treats new operations as usual', async () => {
    const old = await published();
    await raise();
    const id = await published();
    await world.reconcileOnline(1n);
    expect(await world.accept(id)).toMatchObject({ start: true });
    await world.result(id);
    await waitFor('its end', () => world.of(id).length === 2);
    expect(await world.status(old)).toBe('PUBLISHED');
  });
});

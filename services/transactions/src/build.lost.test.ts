import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { cancelMessages } from './domain/state.ts';
import { application, device, World } from './testing/world.ts';

const wifi = 'put-v1-applications-devices-wifi';

// by rules A11, B5 and B6, and ADR 0057
describe('a transaction that a headset has lost', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const create = () => world.create({ operationId: wifi });
  const holds = (id: number, state: HeldState) => [{ transactionId: BigInt(id), state }];
  const again = (epoch: bigint, session: { knowsRevoke?: boolean } = {}) =>
    world.reconcileOnline(epoch, { again: true, ...session });
  const ids = ({ offers }: Awaited<ReturnType<World['reconcileOnline']>>) => offers.map(([id]) => id);

  /** The hello of a session is consumed: it holds nothing. */
  const consumed = (epoch: bigint, knowsRevoke = true) => world.helloConsumed(epoch, knowsRevoke);
  /**
   * Started in session 1, and lost: the hello of session 2 is consumed. `heard`: device-link gets the request to
   * reconcile.
   */
  const lost = async ({ heard = true, knowsRevoke = true } = {}) => {
    const id = await create();
    await world.accept(id, 1n);
    await world.reconcileOnline(2n, { knowsRevoke });
    world.linkUnavailable = !heard;
    await consumed(2n, knowsRevoke);
    world.linkUnavailable = false;
    return id;
  };
  /** Created and started in session 2, which stays online; ends there if `ends`. */
  const newer = async (ends: boolean) => {
    const id = await create();
    expect(await world.accept(id, 2n)).toMatchObject({ start: true });
    if (ends) {
      await world.result(id);
      await world.handled();
      expect(await world.status(id)).toBe('PROCESSED');
    }
    return id;
  };

  // ADR 0057: it must not take effect after a newer transaction of its operation, which supersedes it.
  describe('does not start after a newer transaction of its operation', () => {
    it.each([
      ['runs', false],
      ['has ended', true],
    ])('that was created between the hello and the repeated reconciliation, and %s', async (_, ends) => {
      const first = await lost();
      await newer(ends);
      await again(2n);
      expect(await world.accept(first, 2n)).toMatchObject({ start: false });
    });

    it('that ended in a session for which the reconciliation could not be requested', async () => {
      const first = await lost({ heard: false });
      await newer(true);
      await world.reconcileOnline(3n);
      await consumed(3n);
      expect(await world.accept(first, 3n)).toMatchObject({ start: false });
    });

    it('that was created after the answer of a repeated reconciliation was lost', async () => {
      const first = await lost();
      await again(2n);
      await newer(true);
      await again(2n);
      expect(await world.accept(first, 2n)).toMatchObject({ start: false });
    });

    it('at a client that does not support revoke', async () => {
      const [first, second] = [await create(), await create()];
      await world.accept(first, 1n);
      expect(ids(await world.reconcileOnline(2n, { knowsRevoke: false }))).toEqual([second]);
      expect(await world.accept(second, 2n)).toMatchObject({ start: true });
      await consumed(2n, false);
      await again(2n, { knowsRevoke: false });
      expect(await world.accept(first, 2n)).toMatchObject({ start: false });
    });
  });

  // Rule B5: a reconciliation may be repeated at any time, and no transaction waits for a reconnect.
  describe('reaches a session that stays online', () => {
    it('whose repeated reconciliation got no answer, between the hellos of two sessions', async () => {
      const id = await create();
      await world.accept(id, 1n);
      await world.reconcileOnline(2n);
      await world.reconcileOnline(3n);
      await consumed(2n);
      // A repeated reconciliation whose answer is lost.
      expect(ids(await again(3n))).toEqual([id]);
      await consumed(3n);
      expect(ids(await again(3n))).toEqual([id]);
    });

    it('whose first reconciliation had an answer that device-link could not keep in memory', async () => {
      const id = await lost({ heard: false });
      expect(ids(await world.reconcileOnline(3n))).toEqual([id]);
      await consumed(3n);
      // device-link gets the offer again in a repeated reconciliation.
      expect(ids(await again(3n))).toEqual([id]);
    });
  });

  it('at a client that does not support revoke is canceled if a newer transaction exists, and continues otherwise', async () => {
    const [first, other] = [await create(), await world.create()];
    await world.accept(first, 1n);
    await world.accept(other, 1n);
    await world.reconcileOnline(2n, { knowsRevoke: false });
    await create();
    await consumed(2n, false);
    expect(await again(2n, { knowsRevoke: false })).toMatchObject({ drops: [first] });
    expect(world.of(first).at(-1)).toMatchObject({ result: 'failure', message: cancelMessages.newer });
    expect(await world.accept(other, 2n)).toMatchObject({ start: true });
  });

  it('continues if the later transactions never ran, or are other operations', async () => {
    const first = await create();
    await world.accept(first, 1n);
    await world.reconcileOnline(2n);
    const [failed, canceled] = [await create(), await create()];
    await world.accept(await world.create(), 2n);
    await world.result(failed);
    await world.handled();
    await world.tx.cancelTransactions({
      caller: { applicationId: application, clientId: 'c' },
      deviceId: device,
    });
    expect([await world.status(failed), await world.status(canceled)]).toEqual(['PROCESSED', 'CANCELED']);
    await consumed(2n);
    expect(ids(await again(2n))).toContain(first);
    expect(await world.accept(first, 2n)).toMatchObject({ start: true });
  });

  it('is not a transaction that a newer session was reconciled to hold while the hello was consumed', async () => {
    const id = await create();
    await world.accept(id, 1n);
    world.beforeCancel = () => world.reconcileOnline(3n, { held: holds(id, HeldState.STARTED) });
    await consumed(2n);
    expect(world.beforeCancel).toBeUndefined();
    expect((await again(3n)).offers).toEqual([]);
    expect(await world.stored(id)).not.toContain('lostEpoch');
  });

  it('is not offered again in a session that has requested its start', async () => {
    const first = await lost();
    // Replaced sessions request the start as well.
    await world.accept(first, 1n);
    expect(ids(await again(2n))).toEqual([first]);
    await world.accept(first, 1n);
    expect(ids(await again(2n))).toEqual([first]);
    expect(await world.accept(first, 2n)).toMatchObject({ start: true });
    expect(ids(await again(2n))).toEqual([]);
    await consumed(2n);
    expect(ids(await again(2n))).toEqual([]);
    // Lost again.
    await world.reconcileOnline(3n);
    await consumed(3n);
    expect((await again(3n)).offers).toEqual([[first, 1]]);
  });

  // Rule B1. A frozen instance may repeat the reconciliation of its old session when it resumes.
  it('is neither offered to nor counted by a session before the session whose hello showed the loss', async () => {
    const id = await create();
    await world.accept(id, 1n);
    await world.reconcileOnline(2n);
    await world.reconcileOnline(3n);
    await consumed(2n);
    await consumed(3n);
    expect((await again(2n)).offers).toEqual([]);
    expect((await again(3n)).offers).toEqual([[id, 0]]);
  });

  // Rule B6: a transaction that is held as finished never counts. Protocol: the cloud waits for its report.
  it('is neither offered nor counted if a later hello holds it as finished', async () => {
    const id = await lost({ heard: false });
    const held = holds(id, HeldState.FINISHED);
    for (let epoch = 3n; epoch < 9n; epoch += 1n) {
      expect(await world.reconcileOnline(epoch, { held })).toMatchObject({ offers: [] });
      expect(ids(await world.reconcileOnline(epoch, { again: true, afterUnresponsive: true }))).toEqual([]);
    }
    expect(await world.stored(id)).not.toContain(cancelMessages.retryLimit);
  });
});

import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createCanceler } from './cancel/canceler.ts';
import { reconcileSession } from './dispatch/online.ts';
import { grantStart } from './dispatch/start-grant.ts';
import { cancelMessages } from './domain/state.ts';
import type { Outbox } from './outbox.ts';
import type { TransactionStore } from './ports/transaction-store.ts';
import { raiseTransactions } from './store/raise.ts';
import { createTransactionStore } from './store/store.ts';
import { application, device, World } from './testing/world.ts';

const wifi = 'put-v1-applications-devices-wifi';

// by rules A11, B1 and B5, and ADR 0057
describe('a transaction with concurrent reconciliations, sessions or start requests', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    world.afterClaim = async () => {};
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const create = (over: Parameters<World['create']>[0] = {}) => world.create({ operationId: wifi, ...over });
  const holds = (id: number, state: HeldState) => [{ transactionId: BigInt(id), state }];
  const again = (epoch: bigint, session: { knowsRevoke?: boolean } = {}) =>
    world.reconcileOnline(epoch, { again: true, ...session });
  const ids = ({ offers }: Awaited<ReturnType<World['reconcileOnline']>>) => offers.map(([id]) => id);
  const messages = (id: number) => world.of(id).map((b) => b['message']);
  const withoutRevoke = { knowsRevoke: false };

  /** Started in session 1, and lost: the hello of session 2 is consumed. */
  const lost = async ({ knowsRevoke = true } = {}) => {
    const id = await create();
    await world.accept(id, 1n);
    await world.reconcileOnline(2n, { knowsRevoke });
    await world.helloConsumed(2n, knowsRevoke);
    return id;
  };
  /** Created, started and ended in a session. */
  const newer = async (epoch: bigint) => {
    const id = await create();
    expect(await world.accept(id, epoch)).toMatchObject({ start: true });
    await world.result(id);
    await world.handled();
    expect(await world.status(id)).toBe('PROCESSED');
    return id;
  };
  /** Cancel request of the integrator while no session is known. */
  const cancelAll = () =>
    world.tx.cancelTransactions({
      caller: { applicationId: application, clientId: 'c' },
      deviceId: device,
    });

  /** Store of an instance that pauses once, before its first call of `before`; `meanwhile` runs during the pause. */
  const slowStore = (before: keyof TransactionStore, meanwhile: () => Promise<unknown>) => {
    const options = { idBlock: 10, leftoverAfterMs: 100, progressIntervalMs: 0 };
    const real = createTransactionStore(world.bed.store, options);
    let paused = false;
    const store = new Proxy(real, {
      get: (of, name) => {
        const value = Reflect.get(of, name) as unknown;
        if (name !== before || typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (!paused) {
            paused = true;
            await meanwhile();
          }
          return (await value.apply(of, args)) as unknown;
        };
      },
    });
    return { store, paused: () => paused };
  };
  /** Requests the start in session 2 from such an instance. */
  const grantBySlow = async (
    before: keyof TransactionStore,
    transactionId: number,
    meanwhile: () => Promise<unknown>,
  ) => {
    const { store, paused } = slowStore(before, meanwhile);
    const outbox: Outbox = { publish: async () => {}, drain: async () => {} };
    const answer = await grantStart(
      { store, outbox, dispatcher: { accepted: () => {} }, clock: systemClock },
      {
        transactionId,
        deviceId: device,
        sessionEpoch: 2,
        versions: { client: '3.4.0', firmware: '9.001.0' },
      },
    );
    expect(paused()).toBe(true);
    return answer;
  };

  /**
   * Reconciles by an instance that pauses before its first call of `before`, within the deadline of the call (5 s,
   * ADR 0022). The caller has lost the connection and called another instance, which runs `meanwhile`.
   */
  const reconcileBySlow = async (
    before: keyof TransactionStore,
    meanwhile: () => Promise<unknown>,
    session: {
      epoch: number;
      held?: [number, 'offered' | 'started'][];
      again?: boolean;
      knowsRevoke?: boolean;
    },
  ) => {
    const { store, paused } = slowStore(before, meanwhile);
    const outbox: Outbox = { publish: async () => {}, drain: async () => {} };
    const canceler = createCanceler({ store, outbox, clock: systemClock, withdraw: () => {} });
    const { epoch, held = [], again: repeated = false, knowsRevoke = true } = session;
    const answer = await reconcileSession(
      { store, canceler, clock: systemClock, retryLimit: 3, retryIntervalMs: 0 },
      {
        ...{ deviceId: device, epoch, held: new Map(held), again: repeated, knowsRevoke },
        ...{ readsOffers: false, afterUnresponsive: false },
      },
    );
    expect(paused()).toBe(true);
    return answer;
  };

  // Rules A11 and B1: a transaction that is reported as canceled never takes effect afterwards.
  describe('is never both started and canceled', () => {
    it('if a late dispatch gets a start grant in a session that its document does not name', async () => {
      // The dispatch fails, so the sweeper claims it, and pauses.
      world.linkUnavailable = true;
      let resume = () => {};
      const resumed = new Promise<void>((resolve) => {
        resume = resolve;
      });
      let claimed = false;
      world.afterClaim = async () => {
        claimed = true;
        await resumed;
      };
      const first = await create();
      await waitFor('the claim', () => claimed);
      world.linkUnavailable = false;
      // The reconciliation of session 1 offers it, and it is started there. Then the headset loses its storage.
      await world.reconcileOnline(1n, withoutRevoke);
      expect(await world.accept(first, 1n)).toMatchObject({ start: true });
      expect(ids(await world.reconcileOnline(2n, withoutRevoke))).toEqual([]);
      await world.helloConsumed(2n, false);
      // The sweeper dispatches it to session 2, where it is offered.
      world.online.set(device, 2n);
      resume();
      await waitFor('the dispatch', () => world.dispatched.includes(first));
      expect(await world.accept(first, 2n)).toMatchObject({ start: true });
      // The headset runs it in session 2. A newer transaction is created, and the reconciliation is repeated.
      await create();
      await again(2n, withoutRevoke);
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('if a slow reconciliation continues after the headset has started a transaction that it held as offered', async () => {
      const [first, second] = [await create(), await create()];
      // Its start is lost with the connection.
      expect(await world.accept(first, 1n)).toMatchObject({ start: true });
      await reconcileBySlow(
        'cancelByPlatform',
        async () => {
          expect((await cancelAll()).canceledTransactionIds).toEqual([BigInt(second)]);
          const held = holds(first, HeldState.OFFERED);
          expect(ids(await world.reconcileOnline(2n, { held }))).toEqual([first]);
          expect(await world.accept(first, 2n)).toMatchObject({ start: true });
        },
        { epoch: 2, held: [[first, 'offered']] },
      );
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('if a slow reconciliation read it as lost and its session has started it since', async () => {
      const first = await lost(withoutRevoke);
      expect(ids(await again(2n, withoutRevoke))).toEqual([first]);
      await create();
      await reconcileBySlow(
        'cancelByPlatform',
        async () => expect(await world.accept(first, 2n)).toMatchObject({ start: true }),
        { epoch: 2, again: true, knowsRevoke: false },
      );
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('if the start is requested while a newer session shows the loss', async () => {
      const first = await lost();
      expect(ids(await again(2n))).toEqual([first]);
      // Lost again, before the start grant of session 2.
      const shown = () => world.helloConsumed(3n);
      expect(await grantBySlow('markFound', first, shown)).toMatchObject({ kind: 'drop' });
      expect(ids(await world.reconcileOnline(3n))).toEqual([first]);
      expect(await world.accept(first, 3n)).toMatchObject({ start: true });
    });

    it.each(['held', 'lost'])(
      'if the start is requested while a newer session is reconciled: %s',
      async (as) => {
        const first = await lost();
        const held = as === 'held' ? holds(first, HeldState.OFFERED) : [];
        const reconciled = async () =>
          expect(ids(await world.reconcileOnline(3n, { held }))).toEqual([first]);
        expect(await grantBySlow('markFound', first, reconciled)).toMatchObject({ kind: 'drop' });
        expect(await world.accept(first, 2n)).toMatchObject({ start: false });
        expect(await world.accept(first, 3n)).toMatchObject({ start: true });
      },
    );
  });

  // ADR 0057: it must not take effect after a newer transaction of its operation.
  it('does not start after a newer transaction at a client that does not support revoke, if its offer was lost', async () => {
    const first = await lost(withoutRevoke);
    expect(ids(await again(2n, withoutRevoke))).toEqual([first]);
    // The answer was lost, so the headset never got the offer. The newer transaction runs.
    await newer(2n);
    await again(2n, withoutRevoke);
    const { start, revoke } = await world.accept(first, 2n);
    // device-link sends `start` to such a client in both cases (session/transactions-client.ts).
    expect({ start, revoke }).toEqual({ start: false, revoke: false });
  });

  // ADR 0035 and rule B13: an operation that was done after the backup ends by its result. Rule A11: at a client that
  // does not support revoke, the result ends the transaction.
  it('of a restored database that was done after the backup is not reported as canceled', async () => {
    const id = await create();
    await world.accept(id, 1n);
    // The backup is taken here. Afterwards the headset ends the transaction, and the result is consumed before the
    // database is lost, so it is not consumed again.
    await raiseTransactions({ store: world.bed.store, nowMs: Date.now(), dryRun: false });
    await world.stop();
    await world.start();
    await world.reconcileOnline(1_000_000_002n, withoutRevoke);
    await world.helloConsumed(1_000_000_002n, false);
    await again(1_000_000_002n, withoutRevoke);
    await waitFor('its callback', () => world.of(id).length > 0);
    // The headset answers every offer, and repeats the stored result.
    await world.result(id, true, 'applied');
    await world.handled();
    expect(await world.status(id)).toBe('PROCESSED');
    expect(messages(id)).not.toContain(cancelMessages.retryLimit);
  });

  // Rule B5: no transaction waits for a reconnect. ADR 0057: lostEpoch is durable.
  it('is offered even if the slow reconciliation of an earlier session marks it as found', async () => {
    const first = await lost();
    expect(ids(await again(2n))).toEqual([first]);
    await reconcileBySlow(
      'markReconciled',
      async () => {
        const held = holds(first, HeldState.OFFERED);
        expect(ids(await world.reconcileOnline(3n, { held }))).toEqual([first]);
        expect(await world.accept(first, 3n)).toMatchObject({ start: true });
        // Lost again.
        expect(ids(await world.reconcileOnline(4n))).toEqual([]);
        await world.helloConsumed(4n);
        expect(world.reconciledAgain).toEqual([2n, 4n]);
      },
      { epoch: 3, held: [[first, 'offered']] },
    );
    expect(ids(await again(4n))).toEqual([first]);
  });

  // Protocol, minimum versions: for an older client the cloud sends drop instead of start, and the transaction fails.
  it('that is lost fails if the client is too old for it', async () => {
    const id = await create({ minimumClientVersion: '2.1.1' });
    expect(await world.accept(id, 1n)).toMatchObject({ start: true });
    // The headset is reset to its factory image with an older client.
    await world.reconcileOnline(2n);
    await world.helloConsumed(2n);
    expect(ids(await again(2n))).toEqual([id]);
    expect(await world.accept(id, 2n, '2.0.0')).toMatchObject({ start: false });
    expect(await world.status(id)).toBe('PROCESSED');
    await waitFor('its callback', () => world.of(id).length === 2);
    expect(messages(id).at(-1)).toMatch(/client version 2.0.0 is older than 2.1.1/);
    const other = await create({ minimumClientVersion: '2.1.1' });
    await world.accept(other, 2n);
    await world.reconcileOnline(3n);
    await world.helloConsumed(3n);
    expect(await world.accept(other, 3n)).toMatchObject({ start: true });
  });

  // Rule A11: creating a transaction cancels nothing; while a headset stays online, several commands all run.
  // Rule B5: a reconciliation is repeated with the updated list of held transactions.
  describe('in a late first reconciliation, after the session got the answer of another one,', () => {
    it('is not revoked if the session has started it', async () => {
      const first = await create();
      await reconcileBySlow(
        'openOfDevice',
        async () => {
          expect(ids(await world.reconcileOnline(2n))).toEqual([first]);
          expect(await world.accept(first, 2n)).toMatchObject({ start: true });
          await create();
        },
        { epoch: 2 },
      );
      const { wishedCancellation } = await world.admin.showTransaction({ transactionId: BigInt(first) });
      expect(wishedCancellation).toBe('');
    });

    it('is not canceled by a transaction that was created since', async () => {
      const first = await create();
      await reconcileBySlow(
        'openOfDevice',
        async () => {
          expect(ids(await world.reconcileOnline(2n))).toEqual([first]);
          // Offered, but its ready has not arrived.
          await create();
        },
        { epoch: 2 },
      );
      expect(await world.status(first)).toBe('PUBLISHED');
    });
  });
});

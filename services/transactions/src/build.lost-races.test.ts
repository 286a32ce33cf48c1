import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createCanceler } from './cancel/canceler.ts';
import { takeOnline } from './delivery/online.ts';
import { permitStart } from './delivery/start-permit.ts';
import { cancelMessages } from './domain/state.ts';
import type { Outbox } from './outbox.ts';
import type { TransactionStore } from './ports/transaction-store.ts';
import { raiseTransactions } from './store/raise.ts';
import { createTransactionStore } from './store/store.ts';
import { application, device, World } from './testing/world.ts';

const wifi = 'put-v1-applications-devices-wifi';

// by rules A11, B1 and B5, and ADR 0057
describe('a transaction that more than one judgement, session or permit is about', () => {
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
    world.judgeOnline(epoch, { again: true, ...session });
  const ids = ({ offers }: Awaited<ReturnType<World['judgeOnline']>>) => offers.map(([id]) => id);
  const messages = (id: number) => world.of(id).map((b) => b['message']);
  const deaf = { knowsRevoke: false };

  /** Started in session 1, and lost: the hello of session 2 is consumed. */
  const lost = async ({ knowsRevoke = true } = {}) => {
    const id = await create();
    await world.accept(id, 1n);
    await world.judgeOnline(2n, { knowsRevoke });
    await world.helloConsumed(2n, knowsRevoke);
    return id;
  };
  /** Made, started and ended in a session. */
  const newer = async (epoch: bigint) => {
    const id = await create();
    expect(await world.accept(id, epoch)).toMatchObject({ start: true });
    await world.result(id);
    await world.handled();
    expect(await world.status(id)).toBe('PROCESSED');
    return id;
  };
  /** What the integrator's cancel request does while no session is known. */
  const cancelAll = () =>
    world.tx.cancelTransactions({
      caller: { applicationId: application, clientId: 'c' },
      deviceId: device,
    });

  /** The store of an instance that stands still once, before its first call of `before`. */
  const slowStore = (before: keyof TransactionStore, meanwhile: () => Promise<unknown>) => {
    const options = { idBlock: 10, leftoverAfterMs: 100, progressIntervalMs: 0 };
    const real = createTransactionStore(world.bed.store, options);
    let stood = false;
    const store = new Proxy(real, {
      get: (of, name) => {
        const value = Reflect.get(of, name) as unknown;
        if (name !== before || typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (!stood) {
            stood = true;
            await meanwhile();
          }
          return (await value.apply(of, args)) as unknown;
        };
      },
    });
    return { store, stood: () => stood };
  };
  /** A permit of session 2 by such an instance. */
  const permitBySlow = async (
    before: keyof TransactionStore,
    transactionId: number,
    meanwhile: () => Promise<unknown>,
  ) => {
    const { store, stood } = slowStore(before, meanwhile);
    const outbox: Outbox = { publish: () => {}, drain: async () => {} };
    const permit = await permitStart(
      { store, outbox, delivery: { accepted: () => {} }, clock: systemClock },
      {
        transactionId,
        deviceId: device,
        sessionEpoch: 2,
        versions: { client: '3.4.0', firmware: '9.001.0' },
      },
    );
    expect(stood()).toBe(true);
    return permit;
  };

  /**
   * A judgement by an instance that stands still before its first call of `before`, within its deadline (5 s, ADR 0022) or
   * with that call already on its way to the database. The connection of its caller broke, so that has asked another one,
   * and what runs meanwhile runs there.
   */
  const judgedBySlow = async (
    before: keyof TransactionStore,
    meanwhile: () => Promise<unknown>,
    session: {
      epoch: number;
      held?: [number, 'offered' | 'started'][];
      again?: boolean;
      knowsRevoke?: boolean;
    },
  ) => {
    const { store, stood } = slowStore(before, meanwhile);
    const outbox: Outbox = { publish: () => {}, drain: async () => {} };
    const canceler = createCanceler({ store, outbox, clock: systemClock, withdraw: () => {} });
    const { epoch, held = [], again: repeated = false, knowsRevoke = true } = session;
    const answer = await takeOnline(
      { store, canceler, clock: systemClock, retryLimit: 3, retryIntervalMs: 0 },
      {
        ...{ deviceId: device, epoch, held: new Map(held), again: repeated, knowsRevoke },
        ...{ readsOffers: false, afterUnresponsive: false },
      },
    );
    expect(stood()).toBe(true);
    return answer;
  };

  // Rules A11 and B1: what is told as canceled never takes effect afterwards; a cancel and a start never both win.
  describe('a start and a cancellation never both win', () => {
    it('where a late hand-over gets a permit in a session that its document does not name', async () => {
      // The hand-over fails, so the sweeper takes it up, and stands still.
      world.linkAway = true;
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
      world.linkAway = false;
      // A judgement of session 1 brings it, and it is started there; then the headset loses its storage.
      await world.judgeOnline(1n, deaf);
      expect(await world.accept(first, 1n)).toMatchObject({ start: true });
      expect(ids(await world.judgeOnline(2n, deaf))).toEqual([]);
      await world.helloConsumed(2n, false);
      // The sweeper hands it over to session 2, which has neither had nor dropped it: it is offered there.
      world.online.set(device, 2n);
      resume();
      await waitFor('the hand-over', () => world.delivered.includes(first));
      expect(await world.accept(first, 2n)).toMatchObject({ start: true });
      // The headset works on it, in session 2. A newer one is made, and the session is judged again.
      await create();
      await again(2n, deaf);
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('where a slow judgement continues when the headset has started what it held as offered', async () => {
      const [first, second] = [await create(), await create()];
      // Its start is lost with the connection.
      expect(await world.accept(first, 1n)).toMatchObject({ start: true });
      await judgedBySlow(
        'cancelByPlatform',
        async () => {
          expect((await cancelAll()).canceledTransactionIds).toEqual([BigInt(second)]);
          const held = holds(first, HeldState.OFFERED);
          expect(ids(await world.judgeOnline(2n, { held }))).toEqual([first]);
          expect(await world.accept(first, 2n)).toMatchObject({ start: true });
        },
        { epoch: 2, held: [[first, 'offered']] },
      );
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('where a slow judgement takes for lost what its session has started since', async () => {
      const first = await lost(deaf);
      expect(ids(await again(2n, deaf))).toEqual([first]);
      await create();
      await judgedBySlow(
        'cancelByPlatform',
        async () => expect(await world.accept(first, 2n)).toMatchObject({ start: true }),
        { epoch: 2, again: true, knowsRevoke: false },
      );
      expect(await world.status(first)).toBe('ACCEPTED');
    });

    it('where a permit is given while a newer session is judged, or shows the loss', async () => {
      const first = await lost();
      expect(ids(await again(2n))).toEqual([first]);
      // Lost once more, before the permit of session 2.
      const shown = () => world.helloConsumed(3n);
      expect(await permitBySlow('found', first, shown)).toMatchObject({ kind: 'drop' });
      expect(ids(await world.judgeOnline(3n))).toEqual([first]);
      expect(await world.accept(first, 3n)).toMatchObject({ start: true });
    });

    it.each(['held', 'lost'])('where a permit is given while a newer session is judged: %s', async (as) => {
      const first = await lost();
      const held = as === 'held' ? holds(first, HeldState.OFFERED) : [];
      const judged = async () => expect(ids(await world.judgeOnline(3n, { held }))).toEqual([first]);
      expect(await permitBySlow('found', first, judged)).toMatchObject({ kind: 'drop' });
      expect(await world.accept(first, 2n)).toMatchObject({ start: false });
      expect(await world.accept(first, 3n)).toMatchObject({ start: true });
    });
  });

  // ADR 0057: it must not take effect behind a newer one of its operation.
  it('takes no effect behind a newer one at a client that does not know revoke, if the answer that offered it was lost', async () => {
    const first = await lost(deaf);
    expect(ids(await again(2n, deaf))).toEqual([first]);
    // That answer did not arrive, and the headset has never seen it. The newer one runs.
    await newer(2n);
    await again(2n, deaf);
    const { start, revoke } = await world.accept(first, 2n);
    // device-link sends `start` to such a client in both cases (session/transactions-client.ts).
    expect({ start, revoke }).toEqual({ start: false, revoke: false });
  });

  // ADR 0035 and rule B13: what was done in the lost time ends by its result. Rule A11: a client that does not know
  // revoke is not asked: its result ends the transaction.
  it('of a restored database, done in the lost time, is not told as canceled', async () => {
    const id = await create();
    await world.accept(id, 1n);
    // The backup is of this moment. The headset ends it, and the result is consumed, before the database is lost:
    // what was read is not read again.
    await raiseTransactions({ store: world.bed.store, nowMs: Date.now(), dryRun: false });
    await world.stop();
    await world.start();
    await world.judgeOnline(1_000_000_002n, deaf);
    await world.helloConsumed(1_000_000_002n, false);
    await again(1_000_000_002n, deaf);
    await waitFor('its callback', () => world.of(id).length > 0);
    // It answers every offer, and repeats the result that it remembers.
    await world.result(id, true, 'applied');
    await world.handled();
    expect(await world.status(id)).toBe('PROCESSED');
    expect(messages(id)).not.toContain(cancelMessages.retryLimit);
  });

  // Rule B5: nothing waits for a reconnect. ADR 0057: lostEpoch is durable.
  it('is offered though the slow judgement of an earlier session found it', async () => {
    const first = await lost();
    expect(ids(await again(2n))).toEqual([first]);
    await judgedBySlow(
      'markJudged',
      async () => {
        const held = holds(first, HeldState.OFFERED);
        expect(ids(await world.judgeOnline(3n, { held }))).toEqual([first]);
        expect(await world.accept(first, 3n)).toMatchObject({ start: true });
        // Lost once more.
        expect(ids(await world.judgeOnline(4n))).toEqual([]);
        await world.helloConsumed(4n);
        expect(world.judgedAgain).toEqual([2n, 4n]);
      },
      { epoch: 3, held: [[first, 'offered']] },
    );
    expect(ids(await again(4n))).toEqual([first]);
  });

  // Protocol, minimum versions: if the client is older, the cloud sends drop instead of start, and it has failed.
  it('that is lost is not started by a client that is too old for it, and has failed', async () => {
    const id = await create({ minimumClientVersion: '2.1.1' });
    expect(await world.accept(id, 1n)).toMatchObject({ start: true });
    // The headset gets its factory image, with the client of the factory.
    await world.judgeOnline(2n);
    await world.helloConsumed(2n);
    expect(ids(await again(2n))).toEqual([id]);
    expect(await world.accept(id, 2n, '2.0.0')).toMatchObject({ start: false });
    expect(await world.status(id)).toBe('PROCESSED');
    await waitFor('its callback', () => world.of(id).length === 2);
    expect(messages(id).at(-1)).toMatch(/client version 2.0.0 is older than 2.1.1/);
    const other = await create({ minimumClientVersion: '2.1.1' });
    await world.accept(other, 2n);
    await world.judgeOnline(3n);
    await world.helloConsumed(3n);
    expect(await world.accept(other, 3n)).toMatchObject({ start: true });
  });

  // Rule A11: creating a transaction cancels nothing; while a headset stays online, several commands all run.
  // Rule B5: a judgement is repeated with the held list updated by what the session did since.
  describe('a first judgement that runs late, behind the one that its session has got,', () => {
    it('does not ask back what the session has started', async () => {
      const first = await create();
      await judgedBySlow(
        'openOfDevice',
        async () => {
          expect(ids(await world.judgeOnline(2n))).toEqual([first]);
          expect(await world.accept(first, 2n)).toMatchObject({ start: true });
          await create();
        },
        { epoch: 2 },
      );
      const { wishedCancellation } = await world.admin.showTransaction({ transactionId: BigInt(first) });
      expect(wishedCancellation).toBe('');
    });

    it('cancels nothing for what was made since', async () => {
      const first = await create();
      await judgedBySlow(
        'openOfDevice',
        async () => {
          expect(ids(await world.judgeOnline(2n))).toEqual([first]);
          // Offered; its ready is on the way.
          await create();
        },
        { epoch: 2 },
      );
      expect(await world.status(first)).toBe('PUBLISHED');
    });
  });
});

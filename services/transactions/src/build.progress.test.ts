import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { transactionsConfig } from './config.ts';
import type { TransactionDocument } from './store/documents.ts';
import { application, command, device, World } from './testing/world.ts';

const app = 'put-v1-applications-devices-apps';
const firmware = 'put-v1-applications-devices-firmware';

// proves cb/3/update
describe('progress of updates', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  /** An accepted update whose first callback has been published. */
  const update = async (operationId = app): Promise<number> => {
    const id = await world.create({ operationId, subject: 'p@1' });
    await world.accept(id);
    await waitFor('accepted', () => world.of(id).length === 1);
    return id;
  };
  const general = (id: number, operationId = app) => ({
    applicationId: application,
    deviceId: device,
    timestamp: expect.any(Number),
    transactionId: id,
    operationId,
  });
  const values = (id: number) => world.of(id).map((b) => [b['notificationType'], b['progress']]);

  // proves cb/3/common, cb/3/transaction, cb/3/update, cb/4/notification-types, cb/4/in-progress
  it.each([app, firmware])(
    'of %s goes out in the general form with progress, in order',
    async (operationId) => {
      const id = await update(operationId);
      const body = {
        case: 'progress' as const,
        value: { transactionId: BigInt(id), progress: 0.25, message: 'loading' },
      };
      const receivedAtMs = BigInt(Date.now());
      await world.report(body, 11n, { occurredAtMs: receivedAtMs - 5000n, receivedAtMs });
      await world.progress(id, 0.5, 14n, 'installing');
      await world.report(
        { case: 'result', value: { transactionId: BigInt(id), success: true, message: 'done' } },
        15n,
      );
      await waitFor('the end', () => world.of(id).length === 4);
      const common = general(id, operationId);
      expect(world.of(id)).toEqual([
        {
          ...common,
          notificationType: 'accepted',
          result: 'success',
          message: 'The device has started the operation.',
          progress: 0,
        },
        {
          ...common,
          // The headset's time is before the acceptance, so the acceptance's time is used (rule A20).
          timestamp: world.of(id)[0]?.['timestamp'],
          notificationType: 'in_progress',
          result: 'success',
          message: 'loading',
          progress: 0.25,
        },
        {
          ...common,
          notificationType: 'in_progress',
          result: 'success',
          message: 'installing',
          progress: 0.5,
        },
        { ...common, notificationType: 'processed', result: 'success', message: 'done', progress: 1 },
      ]);
      expect(world.callbacks.map((c) => [c.id, c.sequence, c.replaceable])).toEqual([
        [`tx-${id}-accepted`, 1, false],
        [`tx-${id}-progress-11`, 2, true],
        [`tx-${id}-progress-14`, 3, true],
        [`tx-${id}-processed`, 4, false],
      ]);
    },
  );

  // proves cb/3/update, cb/3/canceled
  it('fails with the last known progress, and is canceled without any', async () => {
    const failed = await update();
    await world.progress(failed, 0.75, 1n);
    await world.result(failed, false, 'hash');
    await waitFor('the end', () => world.of(failed).length === 3);
    expect(values(failed).at(-1)).toEqual(['processed', 0.75]);
    const canceled = await world.create({ operationId: app });
    const caller = { clientId: 'c', applicationId: application };
    await world.tx.cancelTransactions({ caller, deviceId: device });
    await waitFor('the cancellation', () => world.of(canceled).length === 1);
    expect(world.of(canceled)).toEqual([
      {
        ...general(canceled),
        notificationType: 'processed',
        result: 'failure',
        message: 'The transaction was canceled by a cancel request.',
      },
    ]);
  });

  it('changes nothing when it is repeated, late, after the end or before the start', async () => {
    const id = await world.create({ operationId: app });
    await world.progress(id, 0.1, 1n);
    await world.progress(id, 0.1, 2n);
    const other = await update();
    await world.progress(other, 0.2, 3n);
    await waitFor('a report behind the early ones', () => world.of(other).length === 2);
    await world.accept(id);
    await world.progress(id, 0.4, 5n);
    await world.progress(id, 0.4, 5n);
    await world.progress(id, 0.3, 4n);
    await world.result(id);
    await world.progress(id, 0.9, 6n);
    await world.progress(other, 0.8, 7n);
    await waitFor('a report behind the late ones', () => world.of(other).length === 3);
    await waitFor('the end', () => world.of(id).length === 3);
    expect(values(id)).toEqual([
      ['accepted', 0],
      ['in_progress', 0.4],
      ['processed', 1],
    ]);
  });

  // proves cb/4/in-progress
  it('of other operations, or of another device, causes no callback', async () => {
    const id = await world.create({ operationId: command });
    await world.accept(id);
    await world.progress(id, 0.5, 1n);
    const theirs = await update();
    const value = { transactionId: BigInt(theirs), progress: 0.5 };
    await world.event({
      deviceId: '350000000000002',
      body: { case: 'report', value: { reportId: 9n, body: { case: 'progress', value } } },
    });
    await world.progress(theirs, 0.6, 10n);
    await waitFor('a report behind', () => world.of(theirs).length === 2);
    expect(values(theirs)).toEqual([
      ['accepted', 0],
      ['in_progress', 0.6],
    ]);
    expect(world.of(id).map((b) => b['notificationType'])).toEqual(['accepted']);
  });

  it.each([
    [-0.1, 0],
    [0, 0],
    [1, 1],
    [1.5, 1],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 1],
  ])('of %d counts as %d, and its text is bounded', async (reported, shown) => {
    const id = await update();
    await world.progress(id, reported, 1n, 'x'.repeat(5000));
    await waitFor('the callback', () => world.of(id).length === 2);
    expect(values(id).at(-1)).toEqual(['in_progress', shown]);
    expect(world.of(id).at(-1)?.['message']).toBe('x'.repeat(1024));
  });

  it('that is not published yet is shown to operators in the size of the outbox', async () => {
    const id = await update();
    await waitFor(
      'an empty outbox',
      async () => (await world.admin.showTransaction({ transactionId: BigInt(id) })).outboxSize === 0,
    );
    world.logUnavailable = true;
    await world.progress(id, 0.1, 1n);
    await world.progress(id, 0.2, 2n);
    await waitFor(
      'the newest report in the outbox',
      async () => (await world.admin.showTransaction({ transactionId: BigInt(id) })).outboxSize === 1,
    );
    const { transactions } = await world.admin.listTransactionsOfDevice({ deviceId: device, openOnly: true });
    expect(transactions.map((t) => [Number(t.transactionId), t.operationId])).toEqual([[id, app]]);
    world.logUnavailable = false;
  });

  it('keeps its ids and sequence numbers over a crash; of unpublished reports only the newest is sent', async () => {
    const id = await update();
    await world.progress(id, 0.1, 1n);
    await waitFor('the first', () => world.of(id).length === 2);
    const behind = await world.create();
    world.logUnavailable = true;
    await world.progress(id, 0.2, 2n);
    await world.progress(id, 0.3, 3n);
    await world.result(behind);
    await waitFor('both to be stored', async () => (await world.status(behind)) === 'PROCESSED');
    await world.stop();
    world.logUnavailable = false;
    await world.start();
    await waitFor('the unpublished callback', () => world.of(id).length === 3);
    await world.progress(id, 0.3, 3n);
    await world.progress(id, 0.4, 4n);
    await world.result(id, false, 'no space');
    await waitFor('the end', () => world.of(id).at(-1)?.['notificationType'] === 'processed');
    const mine = world.callbacks.filter((c) => c.body['transactionId'] === id);
    expect(mine.map((c) => [c.id, c.sequence, c.body['progress']])).toEqual([
      [`tx-${id}-accepted`, 1, 0],
      [`tx-${id}-progress-1`, 2, 0.1],
      [`tx-${id}-progress-3`, 4, 0.3],
      [`tx-${id}-progress-4`, 5, 0.4],
      [`tx-${id}-processed`, 6, 0.4],
    ]);
  });

  // proves cb/4/in-progress, cb/9/progress, api/9/progress
  it('is published 10 s apart by default; a report up to 1 s early counts as in time', async () => {
    await world.stop();
    const intervalMs = transactionsConfig.TRANSACTIONS_PROGRESS_INTERVAL_MS.default;
    expect(intervalMs).toBe(10_000);
    world.stoppedAtMs = 1_767_225_600_000;
    await world.start({ TRANSACTIONS_PROGRESS_INTERVAL_MS: String(intervalMs) });
    const id = await update();
    const published = () => values(id).slice(1);
    await world.progress(id, 0.1, 1n);
    await waitFor('the first', () => world.of(id).length === 2);
    world.stoppedAtMs += 8999;
    await world.progress(id, 0.2, 2n);
    await world.handled();
    expect(published()).toEqual([['in_progress', 0.1]]);
    world.stoppedAtMs += 1001;
    await waitFor('the second', () => world.of(id).length === 3);
    world.stoppedAtMs += 9000;
    await world.progress(id, 0.3, 3n);
    await waitFor('the third', () => world.of(id).length === 4);
    expect(published()).toEqual([0.1, 0.2, 0.3].map((progress) => ['in_progress', progress]));
  });

  describe('that is reported too often', () => {
    /** Longer than a test runs; the tests advance the clock. */
    const intervalMs = 600_000;
    const start = () => world.start({ TRANSACTIONS_PROGRESS_INTERVAL_MS: String(intervalMs) });
    beforeEach(async () => {
      await world.stop();
      await start();
    });

    // proves cb/4/in-progress, cb/9/progress
    it('becomes one callback when the interval is over, with the newest value', async () => {
      const id = await update();
      await world.progress(id, 0.1, 1n);
      await waitFor('the first', () => world.of(id).length === 2);
      for (let report = 2n; report <= 9n; report += 1n) await world.progress(id, Number(report) / 10, report);
      await world.handled();
      expect(values(id).slice(1)).toEqual([['in_progress', 0.1]]);
      world.aheadMs += intervalMs;
      await waitFor('the next', () => world.of(id).length === 3);
      expect(values(id).slice(1)).toEqual([
        ['in_progress', 0.1],
        ['in_progress', 0.9],
      ]);
      expect(world.callbacks.map((c) => c.sequence)).toEqual([1, 2, 3]);
      await world.result(id);
      await waitFor('the end', () => world.of(id).length === 4);
      expect(world.callbacks.map((c) => c.sequence)).toEqual([1, 2, 3, 4]);
    });

    it('is replaced by the end, which contains the last reported value', async () => {
      const id = await update();
      await world.progress(id, 0.1, 1n);
      await world.progress(id, 0.6, 2n);
      await world.result(id, false, 'hash');
      await waitFor('the end', () => world.of(id).length === 3);
      expect(values(id)).toEqual([
        ['accepted', 0],
        ['in_progress', 0.1],
        ['processed', 0.6],
      ]);
      expect(world.callbacks.map((c) => c.sequence)).toEqual([1, 2, 3]);
      // The sweeper must not find it at every sweep.
      await waitFor('nothing is due', async () => (await world.dueIds()).length === 0);
      // Even a transaction that was made due by mistake is found only once.
      await world.makeDue(id);
      await waitFor('nothing is due again', async () => (await world.dueIds()).length === 0);
    });

    it.each([
      ['an end', (id: number) => world.result(id, false, 'hash'), ['processed', 0.6]],
      ['a report', async () => undefined, ['in_progress', 0.1]],
    ])(
      'is not delayed if the due time of %s was written by a clock that was a day ahead',
      async (_, report, last) => {
        const id = await update();
        world.logUnavailable = true;
        await world.progress(id, 0.1, 1n);
        await world.progress(id, 0.6, 2n);
        await report(id);
        await world.handled();
        await world.stop();
        const bed = openTestBed('transactions', { directory: world.directory });
        await bed.store
          .collection<TransactionDocument>('transactions')
          .updateOne({ _id: id }, { $set: { dueAt: new Date(Date.now() + 86_400_000) } });
        await bed.close();
        world.logUnavailable = false;
        await start();
        await waitFor('the pending callback', () => values(id).some((one) => isDeepStrictEqual(one, last)));
      },
    );

    it('is not lost in a crash', async () => {
      const id = await update();
      await world.progress(id, 0.1, 1n);
      await world.progress(id, 0.6, 2n);
      await waitFor('the first', () => world.of(id).length === 2);
      await world.handled();
      await world.stop();
      await start();
      world.aheadMs += intervalMs;
      await waitFor('the next', () => world.of(id).length === 3);
      expect(values(id)[2]).toEqual(['in_progress', 0.6]);
    });
  });

  // by rule B9
  it('is not published by a slow sweeper after later callbacks', async () => {
    const id = await update();
    world.logUnavailable = true;
    await world.progress(id, 0.1, 1n);
    const [claimed, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.afterClaim = () => {
      claimed.resolve();
      return resumed.promise;
    };
    await claimed.promise;
    world.logUnavailable = false;
    await world.progress(id, 0.9, 2n);
    await world.result(id);
    await waitFor('the end', () => world.of(id).at(-1)?.['notificationType'] === 'processed');
    world.afterClaim = async () => {};
    resumed.resolve();
    await waitFor('nothing is due', async () => (await world.dueIds()).length === 0);
    // A later event in the log than all events of the sweeper.
    await update();
    expect(values(id)).toEqual([
      ['accepted', 0],
      ['in_progress', 0.9],
      ['processed', 1],
    ]);
  });

  // by rule A20
  // rule A24
  it('is never dated before the acceptance, nor the end before the progress, even if the headset’s clock is wrong', async () => {
    const id = await update();
    const now = BigInt(Date.now());
    const at = (occurredAtMs: bigint) => ({ occurredAtMs, receivedAtMs: now + 60_000n });
    const progress = { transactionId: BigInt(id), progress: 0.5, message: 'loading' };
    await world.report({ case: 'progress', value: progress }, 1n, at(now + 50_000n));
    const result = { transactionId: BigInt(id), success: true, message: 'done' };
    await world.report({ case: 'result', value: result }, 2n, at(now - 86_400_000n));
    await waitFor('the end', () => world.of(id).length === 3);
    const times = world.of(id).map((b) => Number(b['timestamp']));
    expect(times).toEqual([times[0], Number(now) + 50_000, Number(now) + 50_000]);
  });
});

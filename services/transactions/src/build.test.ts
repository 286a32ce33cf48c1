import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { FloorReason, TransactionStatus } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { TransactionDocument } from './store/documents.ts';
import { application, command, device, World } from './testing/world.ts';

describe('transactions', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const code = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (e: DomainError) => e.code,
    );

  // proves api/4/accepted, api/4/processed, api/4/command-processed
  it('takes a command from created to processed with its two callbacks in order', async () => {
    world.online.set(device, 5n);
    const id = await world.create();
    await waitFor('the dispatch', () => world.dispatched.includes(id));
    expect(
      await world.sessions.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 5n }),
    ).toMatchObject({ start: true });
    expect(await world.status(id)).toBe('ACCEPTED');
    await world.result(id);
    await waitFor('two callbacks', () => world.of(id).length === 2);
    expect(world.of(id).map((b) => [b['notificationType'], b['result']])).toEqual([
      ['accepted', 'success'],
      ['processed', 'success'],
    ]);
    expect(await world.status(id)).toBe('PROCESSED');
  });

  it('dates the creation of a callback by the cloud’s clock, even if the headset’s clock is wrong', async () => {
    const beganAtMs = Date.now();
    const occurredAtMs = BigInt(beganAtMs - 80 * 3_600_000);
    const receivedAtMs = BigInt(beganAtMs);
    const times = { occurredAtMs, receivedAtMs };
    const update = await world.create({ operationId: 'put-v1-applications-devices-apps', subject: 'p@1' });
    const called = await world.create();
    const answered = await world.create();
    for (const id of [update, called, answered]) await world.accept(id);
    const of = (id: number) => ({ transactionId: BigInt(id), success: true });
    await world.report(
      { case: 'progress', value: { transactionId: BigInt(update), progress: 0.5 } },
      1n,
      times,
    );
    await world.report({ case: 'result', value: of(called) }, 2n, times);
    await world.report({ case: 'appAnswer', value: of(called) }, 3n, times);
    await world.report({ case: 'appAnswer', value: of(answered) }, 4n, times);
    await waitFor('all callbacks', () => world.callbacks.length === 8);
    for (const { id, createdAtMs } of world.callbacks) {
      expect([id, createdAtMs >= beganAtMs && createdAtMs <= Date.now()]).toEqual([id, true]);
    }
  });

  it('is idempotent by id: a repeated create stores nothing and returns the same id', async () => {
    const { transactionId } = await world.tx.drawTransactionId({ deviceId: device });
    const id = await world.create({ transactionId });
    expect(await world.create({ transactionId })).toBe(id);
    const { transactions } = await world.tx.listTransactions({
      applicationId: application,
      perPage: 10,
      page: 1,
    });
    expect(transactions.map((t) => Number(t.transactionId))).toEqual([id]);
  });

  it('is found by operators by application, state and age, oldest first', async () => {
    const first = await world.create();
    const second = await world.create();
    await waitFor('the dispatch', () => world.dispatched.includes(second));
    const ids = async (query: Record<string, unknown>) =>
      (await world.admin.findTransactions(query)).transactions.map((t) => Number(t.transactionId));
    await waitFor('the state', async () => (await ids({ status: TransactionStatus.PUBLISHED })).length === 2);
    expect(await ids({})).toEqual([first, second]);
    expect(await ids({ limit: 1 })).toEqual([first]);
    expect(await ids({ applicationId: application, status: TransactionStatus.PUBLISHED })).toEqual([
      first,
      second,
    ]);
    expect(await ids({ applicationId: application, status: TransactionStatus.CANCELED })).toEqual([]);
    expect(await ids({ applicationId: 'another' })).toEqual([]);
    const { transactions } = await world.admin.findTransactions({});
    const at = transactions[0]?.createdAtMs ?? 0n;
    expect(await ids({ createdBeforeMs: at })).toEqual([]);
    expect(await ids({ createdBeforeMs: at + 86_400_000n })).toEqual([first, second]);
    await expect(world.admin.findTransactions({ status: TransactionStatus.PROCESSED })).rejects.toMatchObject(
      {
        code: 'invalid_argument',
      },
    );
  });

  it('is listed without reading its operation, because a page of 100 could have 100 MiB of operations', async () => {
    const id = await world.create();
    await waitFor('the dispatch', () => world.dispatched.includes(id));
    await world.removeOperation(id);
    const page = { applicationId: application, perPage: 10, page: 1 };
    const listed = (await world.tx.listTransactions(page)).transactions;
    const ofDevice = (await world.admin.listTransactionsOfDevice({ deviceId: device })).transactions;
    const { transaction } = await world.tx.getTransaction({
      ...{ applicationId: application, transactionId: BigInt(id) },
    });
    for (const found of [listed, ofDevice, [transaction]]) {
      expect(found).toMatchObject([{ transactionId: BigInt(id), deviceId: device, operationId: command }]);
    }
  });

  it('is reconciled and canceled without reading its operation, because an offline headset may have many of 1 MiB', async () => {
    const ids = [await world.create(), await world.create(), await world.create()] as const;
    const others = [
      await world.create({ operationId: 'put-v1-applications-devices-settings-wifi' }),
    ] as const;
    await waitFor('the dispatches', () => others.every((id) => world.dispatched.includes(id)));
    for (const id of [ids[0], ids[1]]) await world.removeOperation(id);
    expect((await world.reconcileOnline(7n)).offers.map(([id]) => id)).toEqual([ids[2], ...others]);
    for (const id of [ids[2], ...others]) await world.removeOperation(id);
    await world.create({ activationEpoch: 2n, raisesFloor: FloorReason.RESET });
    await waitFor('all callbacks', () => [...ids, ...others].every((id) => world.of(id).length === 1));
    const last = await world.create({ activationEpoch: 2n });
    await waitFor('the dispatch', () => world.dispatched.includes(last));
    await world.removeOperation(last);
    const caller = { clientId: 'c', applicationId: application };
    const { canceledTransactionIds } = await world.tx.cancelTransactions({ caller, deviceId: device });
    expect(canceledTransactionIds).toContain(BigInt(last));
  });

  it('is offered with its operation up to a size limit, otherwise by id; the operation is then read on demand', async () => {
    const password = 'p'.repeat(400 * 1024);
    const operation = {
      kind: { case: 'applyWifi' as const, value: { networks: [{ ssid: 'x', password }] } },
    };
    const ids: number[] = [];
    for (let n = 0; n < 7; n++) ids.push(await world.create({ operation }));
    const ask = { deviceId: device, sessionEpoch: 7n, again: true };
    const idsOf = (offers: readonly { transactionId: bigint }[]) =>
      offers.map((o) => Number(o.transactionId));
    const { offers } = await world.sessions.headsetOnline({ ...ask, readsOffers: true });
    expect(idsOf(offers)).toEqual(ids);
    expect(offers.map((o) => o.operation !== undefined)).toEqual(ids.map((_, n) => n < 3));
    // A device-link of an earlier release gets all operations.
    expect((await world.sessions.headsetOnline(ask)).offers.every((o) => o.operation)).toBe(true);
    const left = ids.slice(3);
    await world.accept(left[0] as number, 7n);
    await world.result(left[0] as number);
    await waitFor('its end', async () => (await world.status(left[0] as number)) === 'PROCESSED');
    const read = (deviceId: string, wanted: readonly number[]) =>
      world.sessions.readOffers({ deviceId, transactionIds: wanted.map(BigInt) });
    const first = await read(device, left);
    expect([idsOf(first.offers), first.answered]).toEqual([left.slice(1), left.length]);
    expect(first.offers[0]?.operation?.kind).toMatchObject(operation.kind);
    const some = await read(device, ids);
    expect([idsOf(some.offers), some.answered]).toEqual([ids.slice(0, 3), 3]);
    expect(await read('350000000000002', left)).toMatchObject({ offers: [], answered: left.length });
  });

  it('is answered and dispatched only after the disk sync, with a single wait for the disk', async () => {
    // The sweeper dispatches nothing a second time.
    await world.stop();
    await world.start({ TRANSACTIONS_LEFTOVER_AFTER_MS: '60000' });
    const first = await world.create();
    // The mark is the last write of the first transaction, so later disk syncs belong to the second.
    await waitFor('the mark', async () => (await world.status(first)) === 'PUBLISHED');
    world.bed.disk.hold();
    let answered = 0;
    const creating = world.create().then((id) => {
      answered = id;
      return id;
    });
    await waitFor('the disk to be asked', () => world.bed.disk.asked > 0);
    // A call that needs no disk sync is answered meanwhile.
    expect(await world.status(first)).toBe('PUBLISHED');
    expect({ answered, dispatched: world.dispatched.length, asked: world.bed.disk.asked }).toEqual({
      answered: 0,
      dispatched: 1,
      asked: 1,
    });
    world.bed.disk.release();
    const id = await creating;
    await waitFor('the dispatch', () => world.dispatched.includes(id));
  });

  it('gives rising ids to a device', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => world.create()));
    expect(new Set(ids).size).toBe(30);
    expect(await world.create()).toBeGreaterThan(Math.max(...ids));
  });

  it('starts a transaction whose start is requested twice, but no canceled transaction', async () => {
    const id = await world.create();
    const ask = { deviceId: device, transactionId: BigInt(id), sessionEpoch: 1n };
    expect((await world.sessions.accept(ask)).start).toBe(true);
    expect((await world.sessions.accept(ask)).start).toBe(true);
    const other = await world.create();
    const { canceledTransactionIds } = await world.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
    expect(canceledTransactionIds.map(Number)).toEqual([other]);
    expect(await world.sessions.accept({ ...ask, transactionId: BigInt(other) })).toMatchObject({
      start: false,
    });
    expect(await world.sessions.accept({ ...ask, transactionId: 999n })).toMatchObject({ start: false });
    expect(await world.sessions.accept({ ...ask, deviceId: '350000000000002' })).toMatchObject({
      start: false,
    });
  });

  it('either cancels or starts, never both, when the calls are concurrent', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await world.create();
      const [answer, canceled] = await Promise.all([
        world.sessions.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 1n }),
        world.tx.cancelTransactions({
          caller: { clientId: 'c', applicationId: application },
          deviceId: device,
        }),
      ]);
      expect(answer.start).toBe(!canceled.canceledTransactionIds.includes(BigInt(id)));
    }
  });

  it('returns exactly the transactions that it canceled, even if two runs of one Idempotency-Key overlap', async () => {
    const first = await world.create();
    const idempotency = { key: 'k', method: 'DELETE', path: '/x', bodySha256: new Uint8Array(32) };
    const cancel = () =>
      world.tx.cancelTransactions({
        caller: { clientId: 'c', applicationId: application, idempotency },
        deviceId: device,
      });
    const slow = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    world.beforePresence = () => {
      asked.resolve();
      return slow.promise;
    };
    const late = cancel();
    await asked.promise;
    world.beforePresence = async () => {};
    expect((await cancel()).canceledTransactionIds.map(Number)).toEqual([first]);
    const second = await world.create();
    slow.resolve();
    expect((await late).canceledTransactionIds.map(Number)).toEqual([first]);
    expect(await world.status(second)).not.toBe('CANCELED');
  });

  it('cancels nothing for a device that the application has deactivated', async () => {
    const id = await world.create();
    world.activated = false;
    const caller = { clientId: 'c', applicationId: application };
    expect(await code(world.tx.cancelTransactions({ caller, deviceId: device }))).toBe(
      'device_not_activated',
    );
    expect(await world.status(id)).not.toBe('CANCELED');
  });

  it('applies a result once, and ignores a result after the end', async () => {
    const id = await world.create();
    await world.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
    await world.result(id);
    const next = await world.create();
    await world.result(next);
    await world.result(next);
    await world.result(next, false, 'other');
    await waitFor('the end', () => world.of(next).length === 1);
    expect(await world.status(id)).toBe('CANCELED');
    expect(world.of(id).map((b) => b['result'])).toEqual(['failure']);
    expect(world.of(next).map((b) => b['result'])).toEqual(['success']);
  });

  // proves api/4/command-processed, cb/3/command
  it('ends the transaction by an app’s answer before the result, with a callback in the general form before that of the answer', async () => {
    const id = await world.create();
    const answer = { transactionId: BigInt(id), success: true, message: 'mine', customData: 'd' };
    await world.report({ case: 'appAnswer', value: answer });
    await world.report({ case: 'appAnswer', value: answer }, 2n);
    await world.result(id);
    await waitFor('both forms', () => world.of(id).length === 2);
    expect(world.of(id)[0]).toMatchObject({
      notificationType: 'processed',
      result: 'success',
      message: 'mine',
    });
    expect(world.of(id)[1]).toMatchObject({
      success: true,
      process: 'processed',
      message: 'mine',
      customData: 'd',
    });
    expect(await world.status(id)).toBe('PROCESSED');
  });

  // proves api/4/deactivation-cancels, cb/8/cancel-deactivation
  it('cancels transactions below the minimum activation epoch of a deactivation, and rejects creates of the ended activation', async () => {
    const early = await world.create();
    const accepted = await world.create();
    await world.sessions.accept({ deviceId: device, transactionId: BigInt(accepted), sessionEpoch: 1n });
    const deactivation = await world.create({
      operationId: 'delete-v1-applications-devices',
      activationEpoch: 2n,
      raisesFloor: FloorReason.DEACTIVATION,
    });
    expect([await world.status(early), await world.status(accepted)]).toEqual(['CANCELED', 'CANCELED']);
    expect(await code(world.create())).toBe('device_not_activated');
    const next = await world.create({ activationEpoch: 3n });
    expect(
      (
        await world.sessions.accept({
          deviceId: device,
          transactionId: BigInt(deactivation),
          sessionEpoch: 1n,
        })
      ).start,
    ).toBe(true);
    expect(
      (await world.sessions.accept({ deviceId: device, transactionId: BigInt(next), sessionEpoch: 1n }))
        .start,
    ).toBe(true);
    await waitFor('the message', () => world.of(early).length === 1);
    expect(world.of(early)[0]?.['message']).toBe(
      'The transaction was canceled because it occurred before deactivation.',
    );
  });

  // proves api/4/created-published, api/4/resend-online
  it('retries a failed dispatch, and offers waiting transactions when the headset comes online', async () => {
    world.linkUnavailable = true;
    const id = await world.create();
    expect(await world.status(id)).toBe('CREATED');
    world.linkUnavailable = false;
    await waitFor('the dispatch by the sweeper', () => world.dispatched.includes(id));
    await waitFor('the mark', async () => (await world.status(id)) === 'PUBLISHED');
    const online = await world.sessions.headsetOnline({ deviceId: device, sessionEpoch: 7n, held: [] });
    expect(online.offers.map((o) => Number(o.transactionId))).toEqual([id]);
    expect(online.offers[0]).toMatchObject({ attempt: 0, operationId: command });
  });

  it('dispatches a transaction whose due time was written by a clock that was a day ahead', async () => {
    world.linkUnavailable = true;
    const id = await world.create();
    await world.bed.store
      .collection<TransactionDocument>('transactions')
      .updateOne({ _id: id }, { $set: { dueAt: new Date(Date.now() + 86_400_000) } });
    world.linkUnavailable = false;
    await waitFor('the dispatch by the sweeper', () => world.dispatched.includes(id));
  });

  it('dispatches the other transactions of a batch if one cannot be decoded', async () => {
    world.linkUnavailable = true;
    const [first = 0, spoilt = 0, last = 0] = [
      await world.create(),
      await world.create(),
      await world.create(),
    ];
    await world.corruptOperation(spoilt);
    world.linkUnavailable = false;
    await waitFor(
      'the dispatches by the sweeper',
      () => world.dispatched.includes(first) && world.dispatched.includes(last),
    );
    expect(world.dispatched).not.toContain(spoilt);
  });

  it('counts a retry of an accepted transaction that its headset has lost', async () => {
    const id = await world.create();
    await world.sessions.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 5n });
    const held = [{ transactionId: BigInt(id), state: HeldState.STARTED }];
    // It has advanced: it was accepted.
    expect(await world.reconcileOnline(6n, { held })).toMatchObject({ starts: [id], offers: [] });
    const lost = { offers: [], starts: [], revocations: [], drops: [] };
    expect(await world.reconcileOnline(7n)).toEqual(lost);
    await world.helloConsumed(7n);
    expect(world.reconciledAgain).toEqual([7n]);
    const again = () => world.reconcileOnline(7n, { again: true });
    expect(await again()).toMatchObject({ offers: [[id, 1]] });
    expect(await again()).toMatchObject({ offers: [[id, 1]] });
    expect(await world.reconcileOnline(8n, { held })).toMatchObject({ starts: [id], offers: [] });
    // The next session starts before anything is sent in the session that showed the loss.
    await world.reconcileOnline(9n);
    await world.helloConsumed(9n);
    expect(await world.reconcileOnline(10n)).toMatchObject({ offers: [[id, 3]] });
  });

  // proves api/4/resend-limit, api/8/retry-limit, api/9/retry-limit, cb/8/cancel-retry
  it('cancels at the retry limit, and drops transactions that a headset holds but that have ended', async () => {
    const id = await world.create();
    // The first offer and three retries.
    for (let epoch = 1n; epoch <= 4n; epoch++) {
      const { offers } = await world.sessions.headsetOnline({
        deviceId: device,
        sessionEpoch: epoch,
        held: [],
      });
      expect(offers.map((o) => Number(o.transactionId))).toEqual([id]);
      // A repeated reconciliation of a session counts once.
      await world.sessions.headsetOnline({ deviceId: device, sessionEpoch: epoch, held: [] });
    }
    const last = await world.sessions.headsetOnline({
      deviceId: device,
      sessionEpoch: 5n,
      held: [{ transactionId: 999n, state: HeldState.OFFERED }],
    });
    expect(last.offers).toEqual([]);
    expect(last.dropTransactionIds.map(Number)).toEqual([999]);
    await waitFor('the end', () => world.of(id).length === 1);
    expect(world.of(id)[0]?.['message']).toBe(
      'The transaction was canceled because the retry limit was exceeded.',
    );
  });

  it('publishes one callback of each kind across a restart', async () => {
    const id = await world.create();
    await world.result(id);
    await waitFor('the callback', () => world.of(id).length === 1);
    await world.stop();
    await world.start();
    const next = await world.create();
    await world.result(next);
    await waitFor('the next callback', () => world.of(next).length === 1);
    expect(world.of(id)).toHaveLength(1);
  });
});

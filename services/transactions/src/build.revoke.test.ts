import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { cancelMessages } from './domain/state.ts';
import { device, World } from './testing/world.ts';

const update = 'put-v1-applications-devices-apps';

// by rules A11, B1, B5 and B6
describe('a started transaction whose cancellation is requested', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const create = () => world.create({ operationId: update, subject: 'p@1' });
  const holds = (id: number, state: HeldState) => [{ transactionId: BigInt(id), state }];
  const revoked = (id: number, reportId = 50n) =>
    world.report({ case: 'revoked', value: { transactionId: BigInt(id) } }, reportId);
  const callbacks = (id: number) =>
    world.of(id).map((b) => [b['notificationType'], b['result'], b['message']]);
  const shown = async (id: number) => await world.admin.showTransaction({ transactionId: BigInt(id) });

  /** Two updates of one package; the first was started in session 1, and session 2 holds it as started. */
  const superseded = async (knowsRevoke = true) => {
    const [first, second] = [await create(), await create()];
    await world.accept(first, 1n);
    const sent = await world.reconcileOnline(2n, { held: holds(first, HeldState.STARTED), knowsRevoke });
    return { first, second, sent };
  };

  it('is revoked, and canceled only when the headset has given it up', async () => {
    const { first, second, sent } = await superseded();
    expect(sent).toEqual({
      offers: [[second, 0]],
      starts: [],
      revocations: [[first, cancelMessages.newer]],
      drops: [],
    });
    expect(await world.status(first)).toBe('ACCEPTED');
    expect(await shown(first)).toMatchObject({ wishedCancellation: cancelMessages.newer });
    await revoked(first);
    await waitFor('the cancellation', () => world.of(first).length === 2);
    expect(callbacks(first)[1]).toEqual(['processed', 'failure', cancelMessages.newer]);
    expect(await world.status(first)).toBe('CANCELED');
    expect(await shown(first)).toMatchObject({ wishedCancellation: '' });
    // A repeated answer of the headset, or a result after it, causes no callback.
    await revoked(first, 51n);
    await world.result(first);
    await world.result(second);
    await waitFor('a callback behind them', () => world.of(second).length === 1);
    expect(callbacks(first)).toHaveLength(2);
  });

  it('ends by its result if its effect has begun', async () => {
    const { first, second } = await superseded();
    await world.result(first, true, 'installed');
    await waitFor('the end', () => world.of(first).length === 2);
    expect(callbacks(first)[1]).toEqual(['processed', 'success', 'installed']);
    await revoked(first);
    await world.result(second);
    await waitFor('a callback behind it', () => world.of(second).length === 1);
    expect(await world.status(first)).toBe('PROCESSED');
    expect(callbacks(first)).toHaveLength(2);
  });

  it('is revoked again in each session, even if the reason for the cancellation no longer exists', async () => {
    const { first, second } = await superseded();
    await world.result(second);
    await waitFor('the newer one to end', () => world.of(second).length === 1);
    const again = await world.reconcileOnline(3n, { held: holds(first, HeldState.STARTED) });
    expect(again.revocations).toEqual([[first, cancelMessages.newer]]);
    expect(await world.accept(first, 3n)).toMatchObject({ start: false, revoke: true });
    expect(await world.status(first)).toBe('ACCEPTED');
  });

  it('continues at a client that does not support revoke', async () => {
    const { first, sent } = await superseded(false);
    expect(sent).toMatchObject({ starts: [first], revocations: [] });
    expect(await world.accept(first, 2n)).toMatchObject({ start: true });
  });

  it.each([true, false])(
    'waits for its result, which may not be consumed at the next hello (revoke: %s)',
    async (knowsRevoke) => {
      const [first, second] = [await create(), await create()];
      await world.accept(first, 1n);
      // The report is acknowledged, so the hello does not hold the transaction; the report is not consumed yet.
      for (const epoch of [2n, 3n]) {
        const { offers, revocations } = await world.reconcileOnline(epoch, { knowsRevoke });
        expect([offers.map(([id]) => id), revocations]).toEqual([[second], []]);
      }
      await world.result(first, true, 'installed');
      await world.hello(2n, [], knowsRevoke);
      await world.helloConsumed(3n, knowsRevoke);
      expect(callbacks(first)[1]).toEqual(['processed', 'success', 'installed']);
      expect(world.reconciledAgain).toEqual([]);
      expect(await world.accept(first, 3n)).toMatchObject({ start: false });
    },
  );

  it('is offered, so that it can be revoked, if the headset has lost it', async () => {
    const [first, second] = [await create(), await create()];
    await world.accept(first, 1n);
    await world.reconcileOnline(2n);
    await world.helloConsumed(2n);
    expect(world.reconciledAgain).toEqual([2n]);
    const { offers } = await world.reconcileOnline(2n, { again: true });
    expect(offers.map(([id]) => id)).toEqual([first, second]);
    expect(await world.accept(first, 2n)).toMatchObject({
      start: false,
      revoke: true,
      dropReason: cancelMessages.newer,
    });
  });

  it('is not marked lost by a late or repeated hello', async () => {
    const id = await create();
    await world.accept(id, 1n);
    await world.reconcileOnline(2n, { held: holds(id, HeldState.STARTED) });
    await world.helloConsumed(1n);
    await world.helloConsumed(2n);
    expect(await world.reconcileOnline(2n, { again: true })).toMatchObject({ offers: [] });
    expect(await world.reconcileOnline(3n)).toMatchObject({ offers: [] });
    expect(world.reconciledAgain).toEqual([]);
  });

  it('is offered to the next session if the reconciliation could not be requested from device-link', async () => {
    const id = await create();
    await world.accept(id, 1n);
    await world.reconcileOnline(2n);
    world.linkUnavailable = true;
    await world.helloConsumed(2n);
    expect(world.reconciledAgain).toEqual([]);
    expect(await world.reconcileOnline(3n)).toMatchObject({ offers: [[id, 0]] });
  });

  it('is canceled at once by a reset, and the headset’s later answer changes nothing', async () => {
    const { first } = await superseded();
    await world.create({
      operationId: 'put-v1-applications-devices-reset',
      activationEpoch: 2n,
      raisesFloor: FloorReason.RESET,
    });
    await waitFor('the cancellation', () => world.of(first).length === 2);
    expect(callbacks(first)[1]?.[2]).toBe(cancelMessages.reset);
    await revoked(first);
    const next = await world.reconcileOnline(3n, { held: holds(first, HeldState.STARTED) });
    expect(next).toMatchObject({ revocations: [], starts: [], drops: [first] });
  });

  it.each([
    ['reset', FloorReason.RESET, cancelMessages.reset],
    ['deactivation', FloorReason.DEACTIVATION, cancelMessages.deactivation],
  ])(
    'is withdrawn from the current session by a %s, together with waiting transactions',
    async (_, raisesFloor, message) => {
      const [started, waiting] = [await create(), await create()];
      await world.accept(started, 1n);
      await world.create({ activationEpoch: 2n, raisesFloor });
      await waitFor('the withdrawal', () => world.withdrawn.length === 2);
      expect(world.withdrawn).toEqual([
        [started, message],
        [waiting, message],
      ]);
      expect(await world.accept(started, 1n)).toMatchObject({
        start: false,
        revoke: false,
        dropReason: message,
      });
    },
  );

  it('is never canceled by a reconciliation that read it before its start', async () => {
    const [first, second] = [await create(), await create()];
    await world.reconcileOnline(1n);
    const [newer] = [await create()];
    world.beforeCancel = async () => expect(await world.accept(second, 2n)).toMatchObject({ start: true });
    const sent = await world.reconcileOnline(2n, { held: holds(second, HeldState.OFFERED) });
    expect(world.beforeCancel).toBeUndefined();
    expect(sent).toEqual({
      offers: [[newer, 0]],
      starts: [],
      revocations: [[second, cancelMessages.newer]],
      drops: [],
    });
    expect([await world.status(first), await world.status(second)]).toEqual(['CANCELED', 'ACCEPTED']);
    // Only the next session's hello shows that the start did not arrive.
    expect(await world.reconcileOnline(3n, { held: holds(second, HeldState.OFFERED) })).toMatchObject({
      drops: [second],
      revocations: [],
    });
    expect(await world.status(second)).toBe('CANCELED');
  });

  it('is not changed by the reconciliation of a replaced session', async () => {
    const [first] = [await create(), await create()];
    world.beforeCancel = async () => expect(await world.accept(first, 2n)).toMatchObject({ start: true });
    await world.reconcileOnline(1n, { held: holds(first, HeldState.OFFERED) });
    expect(world.beforeCancel).toBeUndefined();
    expect(await world.status(first)).toBe('ACCEPTED');
  });

  it('has failed if the headset gives it up without a cancel request', async () => {
    const id = await create();
    await world.accept(id, 1n);
    await revoked(id);
    await waitFor('the end', () => world.of(id).length === 2);
    expect(callbacks(id)[1]).toEqual(['processed', 'failure', 'The device did not carry out the operation.']);
  });

  it('is revoked when the retry limit is exceeded', async () => {
    const id = await create();
    await world.accept(id, 1n);
    const held = holds(id, HeldState.STARTED);
    // The first retry does not count, because the transaction was accepted since; three retries follow.
    for (let epoch = 2n; epoch <= 5n; epoch += 1n) {
      expect(await world.reconcileOnline(epoch, { held })).toMatchObject({ starts: [id] });
    }
    expect(await world.reconcileOnline(6n, { held })).toMatchObject({
      starts: [],
      revocations: [[id, cancelMessages.retryLimit]],
    });
  });
});

describe('the reconciliation of a session', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  it('takes the start grant from all earlier sessions, even for transactions that were not offered to them', async () => {
    const id = await world.create();
    await world.reconcileOnline(2n, { held: [{ transactionId: BigInt(id), state: HeldState.OFFERED }] });
    expect(await world.accept(id, 1n)).toMatchObject({ start: false });
    expect(await world.accept(id, 2n)).toMatchObject({ start: true });
    // The older session requests the start again after a lost answer.
    expect(await world.accept(id, 1n)).toMatchObject({ start: false });
    expect(await world.accept(id, 2n)).toMatchObject({ start: true });
  });

  it('offers waiting transactions again when it is repeated, and counts no retry', async () => {
    await world.reconcileOnline(1n);
    // device-link considered the headset offline.
    const id = await world.create();
    await waitFor('the mark', async () => (await world.status(id)) === 'PUBLISHED');
    const again = () => world.reconcileOnline(1n, { again: true });
    expect(await again()).toMatchObject({ offers: [[id, 0]] });
    expect(await again()).toMatchObject({ offers: [[id, 0]] });
    // While the headset stays online, several commands run in order; none is superseded.
    const next = await world.create();
    expect(await again()).toMatchObject({
      offers: [
        [id, 0],
        [next, 0],
      ],
      drops: [],
    });
    await world.accept(id);
    expect(await again()).toMatchObject({ offers: [[next, 0]], starts: [] });
  });

  it('does not offer transactions of a newer session when it is repeated', async () => {
    const id = await world.create();
    await world.reconcileOnline(2n);
    expect(await world.reconcileOnline(1n, { again: true })).toMatchObject({ offers: [] });
    expect(await world.accept(id, 1n)).toMatchObject({ start: false });
  });

  it('keeps its session epoch if the mark of an older dispatch is late', async () => {
    world.online.set(device, 1n);
    const id = await world.create();
    // Reconciles session 2 before the dispatch to session 1 is marked.
    await world.reconcileOnline(2n);
    await waitFor('the mark', async () => (await world.status(id)) === 'PUBLISHED');
    expect(await world.accept(id, 1n)).toMatchObject({ start: false });
    expect((await world.admin.showTransaction({ transactionId: BigInt(id) })).sessionEpoch).toBe(2n);
  });

  it('counts one retry per minute', async () => {
    await world.stop();
    await world.start({ TRANSACTIONS_RETRY_INTERVAL_MS: '60000' });
    const id = await world.create();
    for (let epoch = 1n; epoch <= 9n; epoch += 1n) {
      const { offers } = await world.reconcileOnline(epoch);
      expect(offers).toEqual([[id, epoch === 1n ? 0 : 1]]);
    }
    // A retry after an unresponsive session always counts, even within the minute.
    expect((await world.reconcileOnline(10n, { afterUnresponsive: true })).offers).toEqual([[id, 2]]);
  });
});

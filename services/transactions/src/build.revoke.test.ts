import { rmSync } from 'node:fs';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { cancelMessages } from './domain/state.ts';
import { device, Harness } from './testing/harness.ts';

const update = 'put-v1-applications-devices-apps';

// by rules A11, B1, B5 and B6
describe('what a headset has started and the cloud wishes to cancel', () => {
  let h: Harness;
  beforeEach(async () => {
    h = new Harness();
    await h.start();
  });
  afterEach(async () => {
    await h.stop();
    rmSync(h.directory, { recursive: true, force: true });
  });

  const create = () => h.create({ operationId: update, subject: 'p@1' });
  const holds = (id: number, state: HeldState) => [{ transactionId: BigInt(id), state }];
  const revoked = (id: number, reportId = 50n) =>
    h.report({ case: 'revoked', value: { transactionId: BigInt(id) } }, reportId);
  const callbacks = (id: number) => h.of(id).map((b) => [b['notificationType'], b['result'], b['message']]);
  const shown = async (id: number) => await h.admin.showTransaction({ transactionId: BigInt(id) });

  /** Two updates of one package, the first started at session 1; session 2 holds it so. */
  const superseded = async (knowsRevoke = true) => {
    const [first, second] = [await create(), await create()];
    await h.accept(first, 1n);
    const sent = await h.judgeOnline(2n, { held: holds(first, HeldState.STARTED), knowsRevoke });
    return { first, second, sent };
  };

  it('is asked for, and canceled only when the headset has left it', async () => {
    const { first, second, sent } = await superseded();
    expect(sent).toEqual({
      offers: [[second, 0]],
      starts: [],
      revocations: [[first, cancelMessages.newer]],
      drops: [],
    });
    expect(await h.status(first)).toBe('ACCEPTED');
    expect(await shown(first)).toMatchObject({ wishedCancellation: cancelMessages.newer });
    await revoked(first);
    await waitFor('the cancellation', () => h.of(first).length === 2);
    expect(callbacks(first)[1]).toEqual(['processed', 'failure', cancelMessages.newer]);
    expect(await h.status(first)).toBe('CANCELED');
    expect(await shown(first)).toMatchObject({ wishedCancellation: '' });
    // Its answer may come again, and so may a result that crossed it: nothing more is told.
    await revoked(first, 51n);
    await h.result(first);
    await h.result(second);
    await waitFor('a callback behind them', () => h.of(second).length === 1);
    expect(callbacks(first)).toHaveLength(2);
  });

  it('ends by its result where its effect had begun', async () => {
    const { first, second } = await superseded();
    await h.result(first, true, 'installed');
    await waitFor('the end', () => h.of(first).length === 2);
    expect(callbacks(first)[1]).toEqual(['processed', 'success', 'installed']);
    await revoked(first);
    await h.result(second);
    await waitFor('a callback behind it', () => h.of(second).length === 1);
    expect(await h.status(first)).toBe('PROCESSED');
    expect(callbacks(first)).toHaveLength(2);
  });

  it('is asked for again in each session, also where nothing else speaks against it any more', async () => {
    const { first, second } = await superseded();
    await h.result(second);
    await waitFor('the newer one to end', () => h.of(second).length === 1);
    const again = await h.judgeOnline(3n, { held: holds(first, HeldState.STARTED) });
    expect(again.revocations).toEqual([[first, cancelMessages.newer]]);
    expect(await h.accept(first, 3n)).toMatchObject({ start: false, revoke: true });
    expect(await h.status(first)).toBe('ACCEPTED');
  });

  it('goes on at a client that does not know revoke', async () => {
    const { first, sent } = await superseded(false);
    expect(sent).toMatchObject({ starts: [first], revocations: [] });
    expect(await h.accept(first, 2n)).toMatchObject({ start: true });
  });

  it('ends by its result at a client that does not know revoke, also when that is on its way at the next hello', async () => {
    const [first] = [await create(), await create()];
    await h.accept(first, 1n);
    // The report is acknowledged, so that the hello holds nothing; the log has not brought it here yet.
    const { offers } = await h.judgeOnline(2n, { knowsRevoke: false });
    expect(offers.map(([id]) => id)).toContain(first);
    await h.result(first);
    await waitFor('its end', async () => (await h.status(first)) === 'PROCESSED');
    expect(await h.accept(first, 2n)).toMatchObject({ start: false });
  });

  it('is offered to be asked for where the headset does not hold it: its result may be on its way', async () => {
    const [first] = [await create(), await create()];
    await h.accept(first, 1n);
    const { offers } = await h.judgeOnline(2n);
    expect(offers.map(([id]) => id)).toContain(first);
    expect(await h.accept(first, 2n)).toMatchObject({
      start: false,
      revoke: true,
      dropReason: cancelMessages.newer,
    });
  });

  it('is canceled at once by a reset, and what the headset answers afterwards changes nothing', async () => {
    const { first } = await superseded();
    await h.create({
      operationId: 'put-v1-applications-devices-reset',
      activationEpoch: 2n,
      raisesFloor: FloorReason.RESET,
    });
    await waitFor('the cancellation', () => h.of(first).length === 2);
    expect(callbacks(first)[1]?.[2]).toBe(cancelMessages.reset);
    await revoked(first);
    const next = await h.judgeOnline(3n, { held: holds(first, HeldState.STARTED) });
    expect(next).toMatchObject({ revocations: [], starts: [], drops: [first] });
  });

  it.each([
    ['reset', FloorReason.RESET, cancelMessages.reset],
    ['deactivation', FloorReason.DEACTIVATION, cancelMessages.deactivation],
  ])('is taken back from the session that runs by a %s, with what waits', async (_, raisesFloor, message) => {
    const [started, waiting] = [await create(), await create()];
    await h.accept(started, 1n);
    await h.create({ activationEpoch: 2n, raisesFloor });
    await waitFor('the withdrawal', () => h.withdrawn.length === 2);
    expect(h.withdrawn).toEqual([
      [started, message],
      [waiting, message],
    ]);
    expect(await h.accept(started, 1n)).toMatchObject({ start: false, revoke: false, dropReason: message });
  });

  it('is never canceled by a judgement that saw it before its start', async () => {
    const [first, second] = [await create(), await create()];
    await h.judgeOnline(1n);
    const [newer] = [await create()];
    h.beforeCancel = async () => expect(await h.accept(second, 2n)).toMatchObject({ start: true });
    const sent = await h.judgeOnline(2n, { held: holds(second, HeldState.OFFERED) });
    expect(h.beforeCancel).toBeUndefined();
    expect(sent).toEqual({
      offers: [[newer, 0]],
      starts: [],
      revocations: [[second, cancelMessages.newer]],
      drops: [],
    });
    expect([await h.status(first), await h.status(second)]).toEqual(['CANCELED', 'ACCEPTED']);
    // Only an earlier session's start is void when a hello tells that it did not come.
    expect(await h.judgeOnline(3n, { held: holds(second, HeldState.OFFERED) })).toMatchObject({
      drops: [second],
      revocations: [],
    });
    expect(await h.status(second)).toBe('CANCELED');
  });

  it('is left alone by the judgement of a session that a newer one has replaced', async () => {
    const [first] = [await create(), await create()];
    h.beforeCancel = async () => expect(await h.accept(first, 2n)).toMatchObject({ start: true });
    await h.judgeOnline(1n, { held: holds(first, HeldState.OFFERED) });
    expect(h.beforeCancel).toBeUndefined();
    expect(await h.status(first)).toBe('ACCEPTED');
  });

  it('has failed where a headset leaves what nobody asked it to leave', async () => {
    const id = await create();
    await h.accept(id, 1n);
    await revoked(id);
    await waitFor('the end', () => h.of(id).length === 2);
    expect(callbacks(id)[1]).toEqual(['processed', 'failure', 'The device did not carry out the operation.']);
  });

  it('is asked for when its retries are used up', async () => {
    const id = await create();
    await h.accept(id, 1n);
    const held = holds(id, HeldState.STARTED);
    // The first session that needs it again saw it accepted; three retries follow.
    for (let epoch = 2n; epoch <= 5n; epoch += 1n) {
      expect(await h.judgeOnline(epoch, { held })).toMatchObject({ starts: [id] });
    }
    expect(await h.judgeOnline(6n, { held })).toMatchObject({
      starts: [],
      revocations: [[id, cancelMessages.retryLimit]],
    });
  });
});

describe('sessions that are judged', () => {
  let h: Harness;
  beforeEach(async () => {
    h = new Harness();
    await h.start();
  });
  afterEach(async () => {
    await h.stop();
    rmSync(h.directory, { recursive: true, force: true });
  });

  it('take the permit from every earlier session, also of what was not offered to them', async () => {
    const id = await h.create();
    await h.judgeOnline(2n, { held: [{ transactionId: BigInt(id), state: HeldState.OFFERED }] });
    expect(await h.accept(id, 1n)).toMatchObject({ start: false });
    expect(await h.accept(id, 2n)).toMatchObject({ start: true });
    // The answer was lost, and the older session asks once more.
    expect(await h.accept(id, 1n)).toMatchObject({ start: false });
    expect(await h.accept(id, 2n)).toMatchObject({ start: true });
  });

  it('again get what waits and was taken for undeliverable, and count no retry', async () => {
    await h.judgeOnline(1n);
    // device-link took the headset for away.
    const id = await h.create();
    await waitFor('the mark', async () => (await h.status(id)) === 'PUBLISHED');
    const again = () => h.judgeOnline(1n, { again: true });
    expect(await again()).toMatchObject({ offers: [[id, 0]] });
    expect(await again()).toMatchObject({ offers: [[id, 0]] });
    // Several commands run in order while the headset stays online: none is canceled for a newer one.
    const next = await h.create();
    expect(await again()).toMatchObject({
      offers: [
        [id, 0],
        [next, 0],
      ],
      drops: [],
    });
    await h.accept(id);
    expect(await again()).toMatchObject({ offers: [[next, 0]], starts: [] });
  });

  it('again do not take what a newer session was judged for', async () => {
    const id = await h.create();
    await h.judgeOnline(2n);
    expect(await h.judgeOnline(1n, { again: true })).toMatchObject({ offers: [] });
    expect(await h.accept(id, 1n)).toMatchObject({ start: false });
  });

  it('keep their place when the mark of an older hand-over is late', async () => {
    h.online.set(device, 1n);
    const id = await h.create();
    // Judged before the hand-over to session 1 is marked.
    await h.judgeOnline(2n);
    await waitFor('the mark', async () => (await h.status(id)) === 'PUBLISHED');
    expect(await h.accept(id, 1n)).toMatchObject({ start: false });
    expect((await h.admin.showTransaction({ transactionId: BigInt(id) })).sessionEpoch).toBe(2n);
  });

  it('within a minute count one retry', async () => {
    await h.stop();
    await h.start({ TRANSACTIONS_RETRY_INTERVAL_MS: '60000' });
    const id = await h.create();
    for (let epoch = 1n; epoch <= 9n; epoch += 1n) {
      const { offers } = await h.judgeOnline(epoch);
      expect(offers).toEqual([[id, epoch === 1n ? 0 : 1]]);
    }
    // A headset that does not answer counts, however soon it is back.
    expect((await h.judgeOnline(10n, { afterUnresponsive: true })).offers).toEqual([[id, 2]]);
  });
});

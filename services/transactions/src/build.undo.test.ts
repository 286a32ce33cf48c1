import { rmSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { cancelMessages } from './domain/state.ts';
import { application, device, World } from './testing/world.ts';

const activate = 'post-v1-applications-devices';
const caller = { applicationId: application, clientId: 'client' };

/** A canceled activation is undone (ADR 0063). */
describe('a canceled activation', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const cancel = async () =>
    (await world.tx.cancelTransactions({ caller, deviceId: device })).canceledTransactionIds.map(Number);
  const ended = (id: number) => waitFor(`the end of ${id}`, () => world.of(id)[0]);
  /** Number of callbacks at the time of the first call of devices to undo the activation. */
  const callbacksBefore = (id: number) => world.undone.find(([undone]) => undone === id)?.[1];

  it('by a request is undone before the answer and before its callback; other operations are not', async () => {
    const [id, command] = [await world.create({ operationId: activate }), await world.create()];
    expect(await cancel()).toEqual([id, command]);
    expect(callbacksBefore(id)).toBe(0);
    expect(await ended(id)).toMatchObject({ result: 'failure', message: cancelMessages.request });
    await ended(command);
    expect(callbacksBefore(command)).toBeUndefined();
  });

  it('by the retry limit is undone before its callback', async () => {
    const id = await world.create({ operationId: activate });
    for (let session = 1n; session <= 5n; session += 1n) await world.reconcileOnline(session);
    expect(await ended(id)).toMatchObject({ result: 'failure', message: cancelMessages.retryLimit });
    expect(callbacksBefore(id)).toBe(0);
  });

  it('that the headset gave up is undone', async () => {
    const [id] = [
      await world.create({ operationId: activate }),
      await world.create({ operationId: activate }),
    ];
    await world.accept(id);
    const held = [{ transactionId: BigInt(id), state: HeldState.STARTED }];
    expect((await world.reconcileOnline(2n, { held })).revocations).toEqual([[id, cancelMessages.newer]]);
    await world.report({ case: 'revoked', value: { transactionId: BigInt(id) } });
    await waitFor('the cancellation', async () => (await world.status(id)) === 'CANCELED');
    await waitFor('the undo', () => callbacksBefore(id) !== undefined);
  });

  it('that has failed on the headset is not canceled, so nothing is undone', async () => {
    const id = await world.create({ operationId: activate });
    await world.accept(id);
    await world.result(id, false, 'no storage left');
    await waitFor('the end', () => world.of(id).length === 2);
    expect(world.undone).toEqual([]);
  });

  it('while devices is unavailable sends its callback, and the sweeper repeats the undo', async () => {
    world.devicesUnavailable = true;
    const id = await world.create({ operationId: activate });
    expect(await cancel()).toEqual([id]);
    await ended(id);
    expect(world.undone).toEqual([]);
    expect(await world.dueIds()).toEqual([id]);
    world.devicesUnavailable = false;
    await waitFor('the undo', () => world.undone.length > 0);
    await waitFor('nothing due', async () => (await world.dueIds()).length === 0);
    expect(world.of(id)).toHaveLength(1);
  });

  it('that a restart interrupts is undone afterwards', async () => {
    world.devicesUnavailable = true;
    const id = await world.create({ operationId: activate });
    await cancel();
    await world.stop();
    world.devicesUnavailable = false;
    await world.start();
    await waitFor('the undo', () => world.undone.some(([undone]) => undone === id));
    await waitFor('nothing due', async () => (await world.dueIds()).length === 0);
  });
});

describe('the end of an activation without a transaction', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });
  const end = (activationEpoch: bigint) => world.tx.endActivation({ deviceId: device, activationEpoch });

  it('cancels transactions of earlier epochs, even if they run, and rejects further ones', async () => {
    const [runs, waits] = [await world.create(), await world.create()];
    await world.accept(runs);
    await end(2n);
    for (const id of [runs, waits]) {
      await waitFor('the end', () =>
        world.of(id).some(({ message }) => message === cancelMessages.deactivation),
      );
    }
    await waitFor('the withdrawal', () => world.withdrawn.some(([id]) => id === runs));
    await expect(world.create()).rejects.toMatchObject({ code: 'device_not_activated' });
  });

  it('does not affect a newer activation, even if it is repeated or late', async () => {
    await world.create();
    await end(2n);
    const newer = await world.create({ activationEpoch: 3n });
    await end(2n);
    await end(2n);
    await world.accept(newer);
    expect(await world.status(newer)).toBe('ACCEPTED');
    await expect(world.create({ activationEpoch: 1n })).rejects.toMatchObject({
      code: 'device_not_activated',
    });
  });
});

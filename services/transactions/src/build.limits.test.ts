import { rmSync } from 'node:fs';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { application, device, World } from './testing/world.ts';

const deviceAt = (n: number) => `35000000000${String(n).padStart(4, '0')}`;
const most = 20;
/** On a slow machine, hundreds of concurrent creates take longer than the usual deadline. */
const patient = { deadlineMs: 50_000 };

describe('unprocessed transactions', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(async () => {
    await world.stop();
    rmSync(world.directory, { recursive: true, force: true });
  });

  const create = (over: Parameters<World['create']>[0] = {}, options?: { deadlineMs: number }) =>
    world.create({ deviceUnprocessedLimit: most, ...over }, options);
  /** Creates transactions concurrently; returns how many were created. The limit rejected all others. */
  async function flood(count: number, over: (n: number) => Parameters<World['create']>[0] = () => ({})) {
    const results = await Promise.allSettled(
      Array.from({ length: count }, (_, n) => create(over(n), patient)),
    );
    const rejected = results.filter((one) => one.status === 'rejected');
    for (const { reason } of rejected) expect(reason).toMatchObject({ code: 'too_many_requests' });
    return count - rejected.length;
  }
  const cancelAll = () =>
    world.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
  const expectRejected = (over: Parameters<World['create']>[0] = {}) =>
    expect(create(over)).rejects.toMatchObject({
      code: 'too_many_requests',
      message: `Too many unprocessed transactions of this device: at most ${most}.`,
      limit: { policy: 'device-unprocessed', quota: most },
    });

  test('a flood fills a device exactly to its limit; another device is not affected', async () => {
    expect(await flood(10 * most)).toBe(most);
    await expectRejected();
    expect(await flood(5, () => ({ deviceId: deviceAt(2) }))).toBe(5);
  });

  test('a device accepts transactions again after its transactions were canceled', async () => {
    await flood(2 * most);
    await cancelAll();
    await waitFor('a create to be admitted', async () => (await flood(1)) === 1);
    expect(await flood(2 * most)).toBe(most - 1);
  });

  test('ended transactions do not count', async () => {
    for (let round = 0; round < 6; round++) {
      expect(await flood(most / 2)).toBe(most / 2);
      await cancelAll();
    }
  });

  test('a deactivation is created on a full device, and cancels its transactions', async () => {
    await flood(most);
    await expectRejected();
    const transactionId = (await world.tx.drawTransactionId({ deviceId: device })).transactionId;
    await world.create({ transactionId, activationEpoch: 2n, raisesFloor: FloorReason.DEACTIVATION });
    await waitFor('a create to be admitted', async () => {
      return (await flood(1, () => ({ activationEpoch: 3n }))) === 1;
    });
  });

  test('drawing an id for an activation is rejected on a full device, but not without a limit', async () => {
    await flood(most);
    const draw = (deviceUnprocessedLimit: number) =>
      world.tx.drawTransactionId({ deviceId: device, deviceUnprocessedLimit });
    await expect(draw(most)).rejects.toMatchObject({ code: 'too_many_requests' });
    await draw(0);
    await draw(most + 1);
  });

  test('transactions that were open before the start count', async () => {
    for (let n = 0; n < most; n++) await world.create();
    // A tenth of the limit is admitted before the first count.
    expect(await flood(most)).toBe(most / 10);
    await expectRejected();
  });

  test('the repeat of a successful create returns its id, even on a full device', async () => {
    const id = await create({ transactionId: 500n });
    await flood(most);
    expect(await create({ transactionId: 500n })).toBe(id);
  });

  // protects against rest/device-flood
  test('a flood over many devices fills an application to its limit', async () => {
    const over = (n: number) => ({ deviceId: deviceAt(n % 50), applicationUnprocessedLimit: 100 });
    expect(await flood(400, over)).toBe(100);
    await expect(create(over(1))).rejects.toMatchObject({
      message: 'Too many unprocessed transactions of this application: at most 100.',
      limit: { policy: 'application-unprocessed', quota: 100 },
    });
    expect(await flood(1, () => ({ applicationId: 'other', applicationUnprocessedLimit: 100 }))).toBe(1);
  });
});

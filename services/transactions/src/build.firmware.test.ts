import { rmSync } from 'node:fs';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { application, device, World } from './testing/world.ts';

/** A firmware update must not be a downgrade after an unprocessed update (rule A13). */

const firmware = 'put-v1-applications-devices-firmware';

let world: World;
beforeEach(async () => {
  world = new World();
  await world.start();
});
afterEach(async () => {
  await world.stop();
  rmSync(world.directory, { recursive: true, force: true });
});

const update = (version: string, over: { activationEpoch?: bigint; transactionId?: bigint } = {}) =>
  world.create({
    ...{ operationId: firmware, subject: version, ...over },
    operation: { kind: { case: 'updateFirmware', value: { version } } },
  });
const downgrade = (version: string, than: string) => ({
  code: 'invalid_argument',
  message: `The firmware version ${version} is older than ${than}, to which an unprocessed update of the device leads.`,
});
const listed = async () =>
  (await world.tx.listTransactions({ applicationId: application, perPage: 100, page: 1 })).transactions
    .length;

test('a firmware older than a waiting update is rejected, and nothing is stored', async () => {
  await update('9.010.0');
  await expect(update('9.002.0')).rejects.toMatchObject(downgrade('9.002.0', '9.010.0'));
  expect(await listed()).toBe(1);
  // Neither an equal nor a newer version is a downgrade.
  await update('9.10');
  await update('9.011.0');
  await expect(update('9.010.0')).rejects.toMatchObject(downgrade('9.010.0', '9.011.0'));
  expect(await listed()).toBe(3);
});

test('a started update counts; an ended update does not', async () => {
  const id = await update('9.010.0');
  await world.accept(id);
  await expect(update('9.002.0')).rejects.toMatchObject(downgrade('9.002.0', '9.010.0'));
  await world.result(id, false, 'failed');
  await waitFor('the end', async () => (await world.status(id)) === 'PROCESSED');
  await update('9.002.0');
});

test('a canceled update does not count; the next newest update does', async () => {
  await update('9.002.0');
  const newest = await update('9.010.0');
  await world.accept(newest);
  await world.result(newest, false, 'failed');
  await waitFor('the end', async () => (await world.status(newest)) === 'PROCESSED');
  await expect(update('9.001.0')).rejects.toMatchObject(downgrade('9.001.0', '9.002.0'));
  const caller = { clientId: 'c', applicationId: application };
  await world.tx.cancelTransactions({ caller, deviceId: device });
  await update('9.001.0');
});

test('updates from before a deactivation do not count', async () => {
  await update('9.010.0');
  await world.create({
    operationId: 'delete-v1-applications-devices',
    activationEpoch: 2n,
    raisesFloor: FloorReason.DEACTIVATION,
    operation: { kind: { case: 'deactivate', value: {} } },
  });
  await update('9.002.0', { activationEpoch: 3n });
});

test('two concurrent calls see each other', async () => {
  for (let round = 0; round < 10; round += 1) {
    const newer = `9.${round + 1}.9`;
    const older = `9.${round + 1}.1`;
    const [first, second] = await Promise.allSettled([update(newer), update(older)]);
    expect(first?.status).toBe('fulfilled');
    // The older version either came first or was rejected; both never succeed in the wrong order.
    if (second?.status === 'fulfilled' && first?.status === 'fulfilled') {
      expect(second.value).toBeLessThan(first.value);
    }
  }
});

test('the repeat of a successful create returns its id, even after later creates', async () => {
  const { transactionId } = await world.tx.drawTransactionId({ deviceId: device });
  const id = await update('9.002.0', { transactionId });
  await update('9.010.0');
  expect(await update('9.002.0', { transactionId })).toBe(id);
});

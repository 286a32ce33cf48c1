import { rmSync } from 'node:fs';
import { FloorReason } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = new World();
  await world.start();
});
afterEach(async () => {
  await world.stop();
  rmSync(world.directory, { recursive: true, force: true });
});

/** A report belongs to the activation in which the reported event happened (rule A7). */
describe('a report about a transaction of an earlier activation', () => {
  let reportId = 0n;
  const reported = (activationEpoch: bigint, body: Parameters<World['report']>[0]) => {
    reportId += 1n;
    return world.report(body, reportId, { activationEpoch });
  };
  const answers = (id: number, activationEpoch: bigint, customData = 'data') =>
    reported(activationEpoch, {
      case: 'appAnswer',
      value: { transactionId: BigInt(id), success: true, message: 'mine', customData },
    });
  const ends = (id: number, activationEpoch: bigint, message = 'called') =>
    reported(activationEpoch, {
      case: 'result',
      value: { transactionId: BigInt(id), success: true, message },
    });
  const deactivate = (activationEpoch: bigint) =>
    world.create({
      ...{ operationId: 'delete-v1-applications-devices', activationEpoch },
      raisesFloor: FloorReason.DEACTIVATION,
    });
  const reset = (activationEpoch: bigint) =>
    world.create({
      ...{ operationId: 'put-v1-applications-devices-reset', activationEpoch },
      raisesFloor: FloorReason.RESET,
    });
  /** A command whose app has been called. */
  const called = async (activationEpoch = 1n) => {
    const id = await world.create({ activationEpoch });
    await world.accept(id);
    await ends(id, activationEpoch);
    await waitFor('its result', () => world.of(id).length === 2);
    return id;
  };
  /** Waits until all earlier reports are consumed: a later report in the log has been. */
  const consumed = async (activationEpoch: bigint) => {
    const last = await world.create({ activationEpoch });
    await ends(last, activationEpoch);
    await waitFor('the last callback', () => world.of(last).length === 1);
  };
  const answersOf = (id: number) => world.of(id).filter((body) => 'customData' in body);

  it('an app’s answer that was given after its application lost the device causes no callback', async () => {
    const id = await called();
    await deactivate(2n);
    // Given while no application had the device, under the next application, and under the one after that.
    await answers(id, 2n);
    await answers(id, 3n);
    await deactivate(4n);
    await answers(id, 3n);
    await answers(id, 5n);
    await consumed(5n);
    expect(answersOf(id)).toEqual([]);
    // An answer that was given in time is published, even after all that, and once.
    await answers(id, 1n, 'in time');
    await waitFor('the answer', () => answersOf(id).length === 1);
    expect(answersOf(id)).toMatchObject([{ transactionId: id, success: true, customData: 'in time' }]);
  });

  it('an app’s answer after a repeated activation or a reset still goes to its application', async () => {
    const [first, second] = [await called(), await called()];
    await world.create({ operationId: 'post-v1-applications-devices', activationEpoch: 2n });
    await answers(first, 2n);
    await reset(3n);
    await answers(second, 3n);
    await waitFor('both answers', () => answersOf(first).length === 1 && answersOf(second).length === 1);
  });

  it('after later resets a deactivation still counts', async () => {
    const id = await called();
    await deactivate(2n);
    await reset(4n);
    await answers(id, 3n);
    await answers(id, 4n);
    await consumed(4n);
    expect(answersOf(id)).toEqual([]);
  });

  it('a deactivation ends by its result, even if its headset has a later activation epoch', async () => {
    const id = await deactivate(2n);
    await world.accept(id);
    await ends(id, 3n, 'deactivated');
    await waitFor('the end', () => world.of(id).length === 2);
    expect(world.of(id)[1]).toMatchObject({ result: 'success', message: 'deactivated' });
  });

  it('many ended activations are stored; reports of older activations cause no callback', async () => {
    const id = await called();
    for (let epoch = 2n; epoch <= 66n; epoch += 2n) await deactivate(epoch);
    for (const epoch of [2n, 3n, 41n, 65n, 67n]) await answers(id, epoch);
    await consumed(67n);
    expect(answersOf(id)).toEqual([]);
    await answers(id, 1n);
    await waitFor('the answer', () => answersOf(id).length === 1);
  });
});

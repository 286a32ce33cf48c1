import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, offer, World } from '../testing/world.ts';

let world: World;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  instance = await world.start();
});
afterEach(() => world.close());

/** Dispatches the operations; returns the kinds of the outcomes. */
async function dispatch(...pairs: readonly (readonly [id: number, previousId: number])[]) {
  const { outcomes } = await instance.delivery.deliver({
    handOvers: pairs.map(([id, previousId]) => ({
      deviceId,
      offer: offer(id),
      previousTransactionId: BigInt(previousId),
    })),
  });
  return outcomes.map(({ kind }) => kind.case);
}

/** A session that was reconciled up to id 10; `waits`: ids that later reconciliations return. */
async function connected(waits: () => readonly number[]) {
  world.onOnline = async ({ again }) => ({
    judgedThroughId: 10n,
    ...(again && { offers: waits().map((id) => offer(id)) }),
  });
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  // The offer is sent after the reconciliation.
  await dispatch([10, 9]);
  await waitFor('the first offer', () => headset.ids('offer').length === 1);
  return headset;
}

// by rule A11: several commands all run, in order
describe('operations for a headset that stays online are offered in the order of their creation', () => {
  it('without another call while each operation follows its previous one', async () => {
    const headset = await connected(() => []);
    await dispatch([11, 10], [12, 11]);
    await dispatch([13, 12]);
    await waitFor('the offers', () => headset.ids('offer').length === 4);
    expect(headset.ids('offer')).toEqual([10, 11, 12, 13]);
    expect(world.online).toHaveLength(1);
  });

  it('if one was not dispatched: the next one causes a reconciliation', async () => {
    const headset = await connected(() => [11, 12]);
    expect(await dispatch([12, 11])).toEqual(['sessionEpoch']);
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    expect(headset.ids('offer')).toEqual([10, 11, 12]);
    await dispatch([11, 10], [13, 12]);
    await waitFor('the next one', () => headset.ids('offer').length === 4);
    expect(headset.ids('offer')).toEqual([10, 11, 12, 13]);
    expect(world.online).toHaveLength(2);
  });

  it('if the previous one has ended: the offer is sent after a reconciliation', async () => {
    const headset = await connected(() => [12]);
    await dispatch([12, 11]);
    await waitFor('the offer', () => headset.ids('offer').includes(12));
    expect(headset.ids('offer')).toEqual([10, 12]);
  });

  it('also after failed reconciliations', async () => {
    const headset = await connected(() => [11, 12]);
    const answer = world.onOnline;
    let failures = 3;
    world.onOnline = async (request) => {
      if (failures-- > 0) throw new DomainError('unavailable', 'away');
      return await answer(request);
    };
    await dispatch([12, 11]);
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    expect(headset.ids('offer')).toEqual([10, 11, 12]);
  });

  it('also if more operations wait than the session holds', async () => {
    let created = 10;
    const ended = new Set<number>([10]);
    const headset = await connected(() =>
      Array.from({ length: created }, (_, i) => i + 1).filter((id) => id > 10 && !ended.has(id)),
    );
    headset.ready(10);
    const outcomes: unknown[] = [];
    while (created < 1500) {
      created += 1;
      outcomes.push(...(await dispatch([created, created - 1])));
    }
    expect(outcomes.filter((kind) => kind === 'failure').length).toBeGreaterThan(400);
    // The headset begins to answer while more operations are created.
    const answered = new Set<number>([10]);
    const answer = () => {
      for (const id of headset.ids('offer')) {
        if (answered.has(id)) continue;
        answered.add(id);
        ended.add(id);
        headset.ready(id);
      }
      return headset.ids('start').length;
    };
    await waitFor('some to start', () => answer() > 100);
    while (created < 1600) {
      created += 1;
      await dispatch([created, created - 1]);
      answer();
    }
    await waitFor('all to start', () => answer() >= 1591);
    const expected = Array.from({ length: 1591 }, (_, i) => i + 10);
    expect(headset.ids('offer')).toEqual(expected);
    expect(headset.ids('start')).toEqual(expected);
  });
});

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

/** Handed over one by one; the outcomes' kinds. */
async function handOver(...pairs: readonly (readonly [id: number, previousId: number])[]) {
  const { outcomes } = await instance.delivery.deliver({
    handOvers: pairs.map(([id, previousId]) => ({
      deviceId,
      offer: offer(id),
      previousTransactionId: BigInt(previousId),
    })),
  });
  return outcomes.map(({ kind }) => kind.case);
}

/** A session that was judged for everything up to 10; `waits`: what a later judgement finds. */
async function connected(waits: () => readonly number[]) {
  world.onOnline = async ({ again }) => ({
    judgedThroughId: 10n,
    ...(again && { offers: waits().map((id) => offer(id)) }),
  });
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  // It goes out when the session was judged.
  await handOver([10, 9]);
  await waitFor('the first offer', () => headset.ids('offer').length === 1);
  return headset;
}

// by rule A11: several commands all run, in order
describe('operations for a headset that stays online are offered in the order of their creation', () => {
  it('without asking anybody while each comes behind the one before it', async () => {
    const headset = await connected(() => []);
    await handOver([11, 10], [12, 11]);
    await handOver([13, 12]);
    await waitFor('the offers', () => headset.ids('offer').length === 4);
    expect(headset.ids('offer')).toEqual([10, 11, 12, 13]);
    expect(world.online).toHaveLength(1);
  });

  it('where one was never handed over: the next one has the session judged', async () => {
    const headset = await connected(() => [11, 12]);
    expect(await handOver([12, 11])).toEqual(['sessionEpoch']);
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    expect(headset.ids('offer')).toEqual([10, 11, 12]);
    await handOver([11, 10], [13, 12]);
    await waitFor('the next one', () => headset.ids('offer').length === 4);
    expect(headset.ids('offer')).toEqual([10, 11, 12, 13]);
    expect(world.online).toHaveLength(2);
  });

  it('where the one before it is over: it is offered when the judge has said so', async () => {
    const headset = await connected(() => [12]);
    await handOver([12, 11]);
    await waitFor('the offer', () => headset.ids('offer').includes(12));
    expect(headset.ids('offer')).toEqual([10, 12]);
  });

  it('however often the judge fails', async () => {
    const headset = await connected(() => [11, 12]);
    const answer = world.onOnline;
    let failures = 3;
    world.onOnline = async (request) => {
      if (failures-- > 0) throw new DomainError('unavailable', 'away');
      return await answer(request);
    };
    await handOver([12, 11]);
    await waitFor('the offers', () => headset.ids('offer').length === 3);
    expect(headset.ids('offer')).toEqual([10, 11, 12]);
  });

  it('where more wait than the session holds', async () => {
    let created = 10;
    const over = new Set<number>([10]);
    const headset = await connected(() =>
      Array.from({ length: created }, (_, i) => i + 1).filter((id) => id > 10 && !over.has(id)),
    );
    headset.ready(10);
    const outcomes: unknown[] = [];
    while (created < 1500) {
      created += 1;
      outcomes.push(...(await handOver([created, created - 1])));
    }
    expect(outcomes.filter((kind) => kind === 'failure').length).toBeGreaterThan(400);
    // The headset begins to answer; more are created meanwhile.
    const answered = new Set<number>([10]);
    const answer = () => {
      for (const id of headset.ids('offer')) {
        if (answered.has(id)) continue;
        answered.add(id);
        over.add(id);
        headset.ready(id);
      }
      return headset.ids('start').length;
    };
    await waitFor('some to start', () => answer() > 100);
    while (created < 1600) {
      created += 1;
      await handOver([created, created - 1]);
      answer();
    }
    await waitFor('all to start', () => answer() >= 1591);
    const expected = Array.from({ length: 1591 }, (_, i) => i + 10);
    expect(headset.ids('offer')).toEqual(expected);
    expect(headset.ids('start')).toEqual(expected);
  });
});

import { status } from '@grpc/grpc-js';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, offer, World } from '../testing/world.ts';

let world: World;
let a: Instance;
beforeEach(async () => {
  world = new World();
  a = await world.start();
});
afterEach(() => world.close());

const ask = (at: Instance, sessionEpoch: bigint, forwarded = false) =>
  at.delivery.judgeAgain({ deviceId, sessionEpoch, forwarded });
const repeated = () => world.online.filter((request) => request.again);

async function online(at: Instance) {
  const headset = world.dial(at, { hello: { knowsRevoke: true } });
  const { sessionEpoch } = await headset.next('welcome');
  return { headset, sessionEpoch };
}

// by ADR 0057
describe('a session with more operations at transactions', () => {
  it('is reconciled again at once, and gets the operations', async () => {
    world.onOnline = async ({ again }) => (again ? { offers: [offer(1)] } : {});
    const { headset, sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch);
    expect((await headset.next('offer')).transactionId).toBe(1n);
    expect(repeated()).toMatchObject([{ deviceId, sessionEpoch, knowsRevoke: true, held: [] }]);
  });

  it('is reconciled again after its first reconciliation, if that is running', async () => {
    const first = Promise.withResolvers<void>();
    world.onOnline = async ({ again }) => {
      if (again) return { offers: [offer(1)] };
      await first.promise;
      return {};
    };
    const { headset, sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch);
    expect(repeated()).toEqual([]);
    first.resolve();
    expect((await headset.next('offer')).transactionId).toBe(1n);
  });

  it('is reconciled once more, if a repeated reconciliation is running', async () => {
    const held = Promise.withResolvers<void>();
    world.onOnline = async ({ again }) => {
      if (!again) return {};
      if (repeated().length > 1) return { offers: [offer(1)] };
      await held.promise;
      return {};
    };
    const { headset, sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch);
    await waitFor('the repeated reconciliation', () => repeated().length === 1);
    await Promise.all([ask(a, sessionEpoch), ask(a, sessionEpoch)]);
    held.resolve();
    expect((await headset.next('offer')).transactionId).toBe(1n);
    expect(repeated()).toHaveLength(2);
  });

  it('is reconciled again until that succeeds', async () => {
    world.onOnline = async ({ again }) => {
      if (!again) return {};
      if (repeated().length < 4) throw new DomainError('unavailable', 'away');
      return { offers: [offer(1)] };
    };
    const { headset, sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch);
    expect((await headset.next('offer')).transactionId).toBe(1n);
    expect(repeated()).toHaveLength(4);
  });

  it('reports in each reconciliation that the headset did not answer in the previous session', async () => {
    const { headset: first } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await a.dispatch(deviceId, offer(7));
    await first.next('offer');
    world.clock.offsetMs += 3_600_000;
    await first.next('goAway');
    await first.ended(status.OK);
    const { sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 2);
    await ask(a, sessionEpoch);
    await waitFor('the repeated reconciliation', () => repeated().length === 1);
    expect(world.online.map((request) => request.afterUnresponsive)).toEqual([false, true, true]);
  });

  it('may be at another instance, which is called once', async () => {
    const b = await world.start();
    world.onOnline = async ({ again }) => (again ? { offers: [offer(1)] } : {});
    const { headset, sessionEpoch } = await online(b);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch, true);
    await ask(a, sessionEpoch - 1n);
    expect(repeated()).toEqual([]);
    await ask(a, sessionEpoch);
    expect((await headset.next('offer')).transactionId).toBe(1n);
    await b.cutOff();
    await expect(ask(a, sessionEpoch)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is identified by its epoch: neither an older nor a newer session is reconciled', async () => {
    await ask(a, 1n);
    const { sessionEpoch } = await online(a);
    await waitFor('the reconciliation', () => world.online.length === 1);
    await ask(a, sessionEpoch - 1n);
    await ask(a, sessionEpoch + 1n);
    await ask(a, sessionEpoch);
    await waitFor('the repeated reconciliation', () => repeated().length > 0);
    expect(repeated()).toHaveLength(1);
    await expect(a.delivery.judgeAgain({ sessionEpoch })).rejects.toThrow('device_id');
  });
});

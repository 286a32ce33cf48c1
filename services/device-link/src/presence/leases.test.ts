import { status } from '@grpc/grpc-js';
import { GoAwayReason, HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { requireProductionReady } from '../config.ts';
import { deviceId, type Instance, offer, passUntil, World, WrongClock } from '../testing/world.ts';

let world: World;
/** Clock and timers of the instances of `startFake`. Starts at the current time, because tokens do. */
let time: FakeTime;
beforeEach(() => {
  world = new World();
  time = createFakeTime(Date.now());
});
afterEach(() => world.close());

const presence = async (of: Instance) =>
  (await of.delivery.getPresence({ deviceIds: [deviceId] })).sessionEpochs[deviceId];

async function online(at: Instance) {
  const headset = world.dial(at, { hello: {} });
  const { sessionEpoch } = await headset.next('welcome');
  return { headset, sessionEpoch };
}
/** Longer than the time that passes in a test: neither an unanswered offer nor a regular reconciliation is due. */
const patient = { DEVICE_LINK_OFFER_DEADLINE_MS: 600_000, DEVICE_LINK_RECONCILE_INTERVAL_MS: 3_600_000 };
const startFake = (address?: string) => world.start(patient, address, time, time);
/** Lets time pass, a second at a time, until `probe` returns true. */
const passTo = (what: string, probe: () => Promise<boolean>) =>
  waitFor(what, async () => {
    await time.advance(1000);
    return probe();
  });
const repeatedReconciliations = () => world.online.filter((request) => request.again);

// by rule B5
describe('an instance with an expired lease', () => {
  it('reconciles its sessions again after it renews the lease, so that nothing waits for a reconnect', async () => {
    const [a, b] = [await startFake(), await startFake()];
    const { headset, sessionEpoch } = await online(a);
    await waitFor('the first reconciliation', () => world.online.length === 1);
    const resume = a.stallStore();
    await passTo('the expiry of the lease', async () => (await presence(b)) === undefined);
    expect(a.service.notReady?.()).toMatch('lease');
    // The other instance does not see the session: transactions marks the operation as waiting.
    expect(await b.dispatch(deviceId, offer(1))).toEqual([0n]);
    world.onOnline = async (request) => ({ offers: request.again ? [offer(1)] : [] });
    resume();
    expect((await passUntil(time, headset.next('offer'))).transactionId).toBe(1n);
    expect(repeatedReconciliations()[0]).toMatchObject({ deviceId, sessionEpoch });
    await passTo('the lease', async () => (await presence(b)) === sessionEpoch);
    expect(headset.end).toBeUndefined();
  });

  it('reconciles its sessions again if the renewing beat was sent before the expiry and stored after it', async () => {
    const clock = new WrongClock(0);
    // Beats are 1 s apart; the time of the lease passes only in the steps below.
    const a = await world.start(
      { DEVICE_LINK_LEASE_MS: 3000, DEVICE_LINK_RECONCILE_INTERVAL_MS: 3_600_000 },
      undefined,
      clock,
    );
    const { headset } = await online(a);
    await waitFor('the first reconciliation', () => world.online.length === 1);
    const resume = a.stallStore();
    clock.elapsedMs += 1500;
    await waitFor('a beat that is not stored yet', () => a.waitingForStore() > 0);
    clock.elapsedMs += 1500;
    expect(a.service.notReady?.()).toMatch('lease');
    world.onOnline = async (request) => ({ offers: request.again ? [offer(1)] : [] });
    resume();
    expect((await headset.next('offer')).transactionId).toBe(1n);
    await waitFor('the instance to be ready', () => a.service.notReady?.() === undefined);
  });

  it('closes sessions that have moved to another instance meanwhile', async () => {
    const [a, b] = [await startFake(), await startFake()];
    const first = await online(a);
    await waitFor('the first reconciliation', () => world.online.length === 1);
    const resume = a.stallStore();
    await passTo('the expiry of the lease', async () => (await presence(b)) === undefined);
    const second = await online(b);
    expect(await b.dispatch(deviceId, offer(1))).toEqual([second.sessionEpoch]);
    resume();
    const goAway = await passUntil(time, first.headset.next('goAway'));
    expect(goAway.reason).toBe(GoAwayReason.SUPERSEDED);
    await first.headset.ended(status.OK);
    expect(await presence(a)).toBe(second.sessionEpoch);
  });
});

describe('a session that has moved', () => {
  it('accepts no offers, although its instance has not noticed the move', async () => {
    const [a, b] = [await world.start(), await world.start()];
    const first = await online(a);
    await a.cutOff();
    const second = await online(b);
    expect(await presence(a)).toBe(second.sessionEpoch);
    expect(await a.dispatch(deviceId, offer(1))).toEqual([second.sessionEpoch]);
    expect((await second.headset.next('offer')).transactionId).toBe(1n);
    expect((await first.headset.next('goAway')).reason).toBe(GoAwayReason.SUPERSEDED);
    expect(first.headset.ids('offer')).toEqual([]);
  });
});

describe('a session that continues', () => {
  it('is reconciled periodically, and gets no offer twice', async () => {
    const a = await world.start({ DEVICE_LINK_RECONCILE_INTERVAL_MS: 200 });
    world.onOnline = async (request) => ({ offers: request.again ? [offer(1), offer(2)] : [offer(1)] });
    const { headset } = await online(a);
    await waitFor('three repeated reconciliations', () => repeatedReconciliations().length >= 3);
    expect(headset.ids('offer')).toEqual([1, 2]);
    headset.ready(1);
    await waitFor('the start', () => headset.ids('start').length === 1);
    const before = repeatedReconciliations().length;
    await waitFor('two more reconciliations', () => repeatedReconciliations().length >= before + 2);
    expect(headset.ids('offer')).toEqual([1, 2]);
  });

  it('is reconciled again after a failed reconciliation', async () => {
    const a = await world.start({ DEVICE_LINK_RECONCILE_INTERVAL_MS: 200 });
    const { headset } = await online(a);
    await waitFor('the first reconciliation', () => world.online.length === 1);
    let failures = 0;
    world.onOnline = async () => {
      failures += 1;
      throw new Error('away');
    };
    await waitFor('a failure', () => failures > 0);
    expect(headset.end).toBeUndefined();
    expect(await presence(a)).toBe(1n);
  });
});

describe('a transaction that the hello lists as started', () => {
  const held = [{ transactionId: 7n, state: HeldState.STARTED }];

  it('is started again without an offer, and a ready for it requests a start grant', async () => {
    const a = await world.start();
    world.onOnline = async () => ({ startTransactionIds: [7n], offers: [offer(7)] });
    const headset = world.dial(a, { hello: { held } });
    await headset.next('welcome');
    expect((await headset.next('start')).transactionId).toBe(7n);
    expect(world.accepts).toEqual([]);
    headset.ready(7);
    expect((await headset.next('start')).transactionId).toBe(7n);
    expect(headset.ids('offer')).toEqual([]);
    expect(world.accepts.map((a) => a.transactionId)).toEqual([7n]);
  });

  it('is revoked, and a ready for it requests a start grant', async () => {
    const a = await world.start();
    world.onOnline = async () => ({ revocations: [{ transactionId: 7n, reason: 'newer' }] });
    world.onAccept = async () => ({ start: false, revoke: true, dropReason: 'newer' });
    const headset = world.dial(a, { hello: { held, knowsRevoke: true } });
    await headset.next('welcome');
    expect(await headset.next('revoke')).toMatchObject({ transactionId: 7n, reason: 'newer' });
    headset.ready(7);
    expect(await headset.next('revoke')).toMatchObject({ transactionId: 7n });
    expect(world.online[0]).toMatchObject({ knowsRevoke: true, again: false });
  });

  it('is never revoked if the client does not support revoke', async () => {
    const a = await world.start();
    world.onAccept = async () => ({ start: false, revoke: true, dropReason: 'newer' });
    const headset = world.dial(a, { hello: { held } });
    await headset.next('welcome');
    headset.ready(7);
    expect((await headset.next('start')).transactionId).toBe(7n);
  });
});

it('reports to transactions that the previous session was closed because its headset did not answer', async () => {
  const a = await world.start({ DEVICE_LINK_OFFER_DEADLINE_MS: 200 });
  world.onOnline = async () => ({ offers: world.online.length === 1 ? [offer(1)] : [] });
  const { headset } = await online(a);
  await headset.next('offer');
  expect((await headset.next('goAway')).reason).toBe(GoAwayReason.UNRESPONSIVE);
  await headset.ended(status.OK);
  await waitFor('the end of the session', async () => (await presence(a)) === undefined);
  await online(a);
  await waitFor('the second reconciliation', () => world.online.length === 2);
  const third = await online(a);
  await waitFor('the third reconciliation', () => world.online.length === 3);
  expect(third.sessionEpoch).toBe(3n);
  expect(world.online.map((request) => request.afterUnresponsive)).toEqual([false, true, false]);
});

describe('leases', () => {
  it.each([-3_600_000, 3_600_000])('do not depend on wall clocks (%d ms)', async (offsetMs) => {
    const right = new WrongClock(0);
    const a = await world.start({}, undefined, new WrongClock(offsetMs));
    // The reading instance applies its own lease duration to other instances.
    const leaseMs = 60_000;
    const b = await world.start({ DEVICE_LINK_LEASE_MS: leaseMs }, undefined, right);
    // The headset has corrected its clock by the server's time.
    world.clock.offsetMs = offsetMs;
    const { sessionEpoch } = await online(a);
    await waitFor('the presence at the other instance', async () => (await presence(b)) === sessionEpoch);
    // The clock of the reading instance steps, too.
    right.offsetMs = -offsetMs;
    expect(await presence(b)).toBe(sessionEpoch);
    a.stallStore();
    await waitFor('the expiry of the lease', async () => {
      right.elapsedMs += leaseMs;
      return (await presence(b)) === undefined;
    });
  });

  it('of two instances without an address exclude each other', async () => {
    await startFake('');
    await expect(passUntil(time, startFake(''))).rejects.toThrow('set ADVERTISE_ADDRESS');
  });

  it('of a dead instance without an address are waited for, and end', async () => {
    const a = await startFake('');
    await online(a);
    a.stallStore();
    const fromMs = time.now();
    const b = await passUntil(time, startFake(''));
    expect(await presence(b)).toBeUndefined();
    expect(time.now() - fromMs).toBeGreaterThanOrEqual(15_000);
  });

  it.each([
    [{ ADVERTISE_ADDRESS: undefined, DEVICE_LINK_LEASE_MS: 15_000 }, 'ADVERTISE_ADDRESS is not set'],
    [{ ADVERTISE_ADDRESS: '10.0.0.1:9000', DEVICE_LINK_LEASE_MS: 9_999 }, 'DEVICE_LINK_LEASE_MS is below'],
  ])('are safe in production (%#)', (config, message) => {
    expect(() => requireProductionReady(config, { NODE_ENV: 'production' })).toThrow(message);
    expect(() => requireProductionReady(config, {})).not.toThrow();
  });
});

import { status } from '@grpc/grpc-js';
import { type GoAway, GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { deviceId, type Instance, offer, otherDeviceId, World } from '../testing/world.ts';

let world: World;
let a: Instance;
beforeEach(async () => {
  world = new World();
  a = await world.start();
});
afterEach(() => world.close());

const deliver = (to: Instance, id: number) => to.dispatch(deviceId, offer(id));
const presence = async (of: Instance, ...ids: string[]) =>
  (await of.delivery.getPresence({ deviceIds: ids.length ? ids : [deviceId] })).sessionEpochs;

async function online(at: Instance, id = deviceId) {
  const headset = world.dial(at, { id, hello: {} });
  const { sessionEpoch } = await headset.next('welcome');
  return { headset, sessionEpoch };
}

describe('the newest session of a headset wins', () => {
  it('at one instance', async () => {
    const first = await online(a);
    const second = await online(a);
    expect(second.sessionEpoch).toBeGreaterThan(first.sessionEpoch);
    const goAway = await first.headset.next('goAway');
    expect(goAway.reason).toBe(GoAwayReason.SUPERSEDED);
    expect(goAway.retryAfterMs).toBeGreaterThan(1000);
    await first.headset.ended(status.OK);
    expect(await deliver(a, 1)).toEqual([second.sessionEpoch]);
    await second.headset.next('offer');
  });

  it('over two instances, and the end of the older session does not end the newer one', async () => {
    const b = await world.start();
    const first = await online(a);
    const second = await online(b);
    expect((await first.headset.next('goAway')).reason).toBe(GoAwayReason.SUPERSEDED);
    await first.headset.ended(status.OK);
    expect(await presence(a)).toEqual({ [deviceId]: second.sessionEpoch });
    expect(await deliver(a, 1)).toEqual([second.sessionEpoch]);
    await second.headset.next('offer');
  });

  it('when two connect at the same time, one stays', async () => {
    const headsets = Array.from({ length: 5 }, () => world.dial(a, { hello: {} }));
    await waitFor('the end of four streams', () => headsets.filter((h) => h.end).length === 4);
    const [epoch] = Object.values(await presence(a));
    expect(epoch).toBe(5n);
  });
});

describe('two instances', () => {
  it('forward offers, withdrawals and presence to the instance with the session', async () => {
    const b = await world.start();
    const { headset, sessionEpoch } = await online(b);
    expect(await deliver(a, 1)).toEqual([sessionEpoch]);
    expect((await headset.next('offer')).transactionId).toBe(1n);
    await a.delivery.withdraw({ deviceId, transactionIds: [1n], reason: 'canceled' });
    expect((await headset.next('drop')).transactionId).toBe(1n);
    expect(await presence(a, deviceId, otherDeviceId)).toEqual({ [deviceId]: sessionEpoch });
  });

  it('never forward twice', async () => {
    const b = await world.start();
    await online(b);
    const { outcomes } = await a.delivery.deliver({
      handOvers: [{ deviceId, offer: offer(1) }],
      forwarded: true,
    });
    expect(outcomes).toMatchObject([{ kind: { case: 'sessionEpoch', value: 0n } }]);
  });

  it('return unavailable if the holder cannot be reached, and do not report the headset as away', async () => {
    const b = await world.start();
    await online(b);
    await b.cutOff();
    await expect(deliver(a, 1)).rejects.toThrow('unavailable');
  });

  it('split one call, and an unreachable instance fails only its own headsets', async () => {
    const b = await world.start();
    const here = await online(a);
    await online(b, otherDeviceId);
    const call = () =>
      a.delivery.deliver({
        handOvers: [
          { deviceId: otherDeviceId, offer: offer(1) },
          { deviceId, offer: offer(2) },
          { deviceId: 'unknown', offer: offer(3) },
          { deviceId, offer: offer(4) },
          { deviceId },
        ],
      });
    const [away, local] = [0n, here.sessionEpoch].map((value) => ({ kind: { case: 'sessionEpoch', value } }));
    const failure = (reason: string) => ({
      kind: { case: 'failure', value: expect.stringContaining(reason) },
    });
    const incomplete = failure('offer is missing');
    expect(await call()).toMatchObject({
      outcomes: [{ kind: { case: 'sessionEpoch', value: 1n } }, local, away, local, incomplete],
    });
    await here.headset.next('offer');
    await b.cutOff();
    expect(await call()).toMatchObject({
      outcomes: [failure('unavailable'), local, away, local, incomplete],
    });
  });

  it('do not count the sessions of an instance with an expired lease', async () => {
    const b = await world.start();
    await online(b);
    await b.cutOff();
    // The instance does not renew its lease any more.
    b.stallStore();
    world.clock.offsetMs += 15_001;
    await waitFor('the absence', async () => Object.keys(await presence(a)).length === 0);
    expect(await deliver(a, 1)).toEqual([0n]);
  });
});

describe('an instance that stops', () => {
  it('acknowledges reports, sends its headsets to another instance, and does not count any more', async () => {
    const b = await world.start();
    const { headset } = await online(b);
    for (let id = 1; id <= 20; id += 1) headset.result(id, id);
    await waitFor('the first ack', () => headset.received.some((m) => m.case === 'reportAck'));
    await b.service.stop();
    await headset.ended(status.OK);
    expect(headset.received.at(-1)).toMatchObject({
      case: 'goAway',
      value: { reason: GoAwayReason.DRAINING },
    });
    expect(await presence(a)).toEqual({});
    const again = await online(a);
    expect(again.sessionEpoch).toBeGreaterThan(1n);
    expect(b.service.notReady?.()).toBe('draining');
  });

  const kinds = ({ received }: RawHeadset) => received.map((body) => body.case);
  /** Two headsets; the log does not accept the report of `busy` until `resume` is called. */
  async function oneReports(at: Instance) {
    const idle = await online(at, otherDeviceId);
    const busy = await online(at);
    for (const { headset } of [idle, busy]) {
      headset.result(1, 1);
      await waitFor('the ack', () => kinds(headset).includes('reportAck'));
    }
    const log = Promise.withResolvers<void>();
    world.logHeld = log.promise;
    const resume = () => {
      world.logHeld = undefined;
      log.resolve();
    };
    const before = world.publishes;
    busy.headset.result(2, 2);
    await waitFor('the publish of the report', () => world.publishes > before);
    return { idle: idle.headset, busy: busy.headset, resume };
  }

  it('closes the session of a headset as soon as its own reports are stored', async () => {
    const { idle, busy, resume } = await oneReports(a);
    const stopped = a.service.stop(20_000);
    await idle.ended(status.OK);
    expect(kinds(busy)).toEqual(['welcome', 'reportAck']);
    resume();
    await busy.ended(status.OK);
    await stopped;
    expect(kinds(idle)).toEqual(['welcome', 'reportAck', 'goAway']);
    expect(kinds(busy)).toEqual(['welcome', 'reportAck', 'reportAck', 'goAway']);
    for (const { received } of [idle, busy]) {
      const goAway = received.at(-1)?.value as GoAway;
      expect(goAway.reason).toBe(GoAwayReason.DRAINING);
      expect(goAway.retryAfterMs).toBeLessThanOrEqual(1000);
    }
  });

  it('stops within its time limit, and does not acknowledge reports that are not stored', async () => {
    const time = createFakeTime();
    const own = await world.start({}, undefined, undefined, time);
    const { busy, resume } = await oneReports(own);
    const stopped = own.service.stop(4000);
    // Half of the time passes. The rest is for the streams to close.
    await time.advance(2000);
    await stopped;
    await busy.ended(status.OK);
    resume();
    expect(kinds(busy)).toEqual(['welcome', 'reportAck', 'goAway']);
  });

  it('closes its sessions within its time limit while the store does not answer', async () => {
    const { headset } = await online(a);
    const resume = a.stallStore();
    const stopped = a.service.stop(1000);
    await headset.ended(status.OK);
    await waitFor('the end of the port', async () => {
      const { details } = await world.dial(a).ended(status.UNAVAILABLE);
      return details.includes('ECONNREFUSED');
    });
    resume();
    await stopped;
    expect(kinds(headset)).toEqual(['welcome', 'goAway']);
  });

  it('unexpectedly counts as dead as soon as another instance has its address', async () => {
    const address = '127.0.0.1:9';
    const b = await world.start({}, address);
    await online(b);
    const restarted = await world.start({}, address);
    expect(await presence(restarted)).toEqual({});
    expect(await deliver(restarted, 1)).toEqual([0n]);
  });
});

it('counts sessions and messages', async () => {
  await online(a);
  const text = await world.metrics.metrics();
  expect(text).toContain('headset_sessions 1');
  expect(text).toContain('headset_session_messages_total{direction="in",kind="hello"} 1');
});

import { status } from '@grpc/grpc-js';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { limits } from '../domain/limits.ts';
import type { RawHeadset } from '../testing/raw-headset.ts';
import { deviceId, type Instance, offer, otherDeviceId, World } from '../testing/world.ts';

/** Deadlines are durations: a step of the wall clock neither ends nor prolongs a session. */

const offerDeadlineMs = 30_000;
const helloDeadlineMs = 10_000;
/** Longer than each deadline; milliseconds. */
const stepMs = 31_000;
/** The longest time until the next sweep. */
const sweepMs = 1000;

let world: World;
let time: FakeTime;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  time = createFakeTime(Date.now());
  const config = {
    DEVICE_LINK_OFFER_DEADLINE_MS: offerDeadlineMs,
    DEVICE_LINK_HELLO_DEADLINE_MS: helloDeadlineMs,
    DEVICE_LINK_QUEUED_REPORT_BYTES: 65_536,
  };
  instance = await world.start(config, undefined, time, time);
});
afterEach(() => world.close());

async function connected(id = deviceId): Promise<RawHeadset> {
  const before = world.online.length;
  const headset = world.dial(instance, { id, hello: {} });
  await headset.next('welcome');
  await waitFor('the reconciliation', () => world.online.length > before);
  return headset;
}
const hasSession = async () =>
  (await instance.delivery.getPresence({ deviceIds: [deviceId] })).sessionEpochs[deviceId] !== undefined;

async function offered(headset: RawHeadset, id = deviceId): Promise<void> {
  await instance.dispatch(id, offer(1));
  await headset.next('offer');
}

describe('an unanswered offer', () => {
  it('does not end the session when the wall clock is set forward', async () => {
    const headset = await connected();
    await offered(headset);
    time.stepWallClock(stepMs);
    await time.advance(sweepMs);
    headset.ready(1);
    await headset.next('start');
  });

  it('ends the session in time although the wall clock was set back', async () => {
    const headset = await connected();
    await offered(headset);
    time.stepWallClock(-stepMs);
    await time.advance(offerDeadlineMs + sweepMs);
    expect((await headset.next('goAway')).reason).toBe(GoAwayReason.UNRESPONSIVE);
  });

  it('does not end the session while the log is unavailable and the answer is not read', async () => {
    const headset = await connected();
    const silent = await connected(otherDeviceId);
    await waitFor('the hellos on the log', async () => (await world.reports()).length === 2);
    world.logUnavailable = true;
    for (const reportId of [1n, 2n]) {
      const value = { transactionId: 7n, success: true, customData: 'x'.repeat(70_000) };
      headset.send({ case: 'report', value: { reportId, body: { case: 'appAnswer', value } } });
    }
    await waitFor('the full queue', async () =>
      /queued_report_bytes [7-9]\d{4}/.test(await world.metrics.metrics()),
    );
    await offered(headset);
    headset.ready(1);
    await offered(silent, otherDeviceId);
    await time.advance(offerDeadlineMs + sweepMs);
    // The sweep checks sessions in the order in which they began.
    expect((await silent.next('goAway')).reason).toBe(GoAwayReason.UNRESPONSIVE);
    world.logUnavailable = false;
    const answers = () => headset.received.flatMap(({ case: kind }) => (kind === 'reportAck' ? [] : [kind]));
    await waitFor('the start', () => answers().length === 3);
    expect(answers()).toEqual(['welcome', 'offer', 'start']);
  });
});

describe('a headset that does not read', () => {
  async function full(): Promise<RawHeadset> {
    const headset = await connected();
    headset.stopReading();
    const large = Array.from({ length: 100 }, (_, i) => offer(i + 1, 'x'.repeat(4096)));
    await instance.dispatch(deviceId, ...large);
    await waitFor('the stream to be full', async () =>
      /kind="offer"\} [1-9]/.test(await world.metrics.metrics()),
    );
    return headset;
  }

  it('keeps its session if the wall clock is set forward', async () => {
    await full();
    time.stepWallClock(stepMs);
    await time.advance(sweepMs);
    expect(await hasSession()).toBe(true);
  });

  it('loses its session and its stream in time although the wall clock was set back', async () => {
    const headset = await full();
    time.stepWallClock(-stepMs);
    await time.advance(offerDeadlineMs + sweepMs);
    expect(await hasSession()).toBe(false);
    time.stepWallClock(-stepMs);
    await time.advance(limits.closeGraceMs + sweepMs);
    await headset.ended(status.CANCELLED);
  });
});

describe('a stream without a hello', () => {
  async function dialed(): Promise<RawHeadset> {
    const before = world.keyReads;
    const headset = world.dial(instance);
    await waitFor('its token to be checked', () => world.keyReads > before);
    return headset;
  }

  it('is not refused when the wall clock is set forward', async () => {
    const headset = await dialed();
    time.stepWallClock(stepMs);
    await time.advance(sweepMs);
    headset.hello();
    await headset.next('welcome');
  });

  it('is refused in time although the wall clock was set back', async () => {
    const headset = await dialed();
    time.stepWallClock(-stepMs);
    await time.advance(helloDeadlineMs + sweepMs);
    await headset.ended(status.DEADLINE_EXCEEDED);
  });
});

import { toJson } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { GetBillResponseSchema } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { imei, openWorld, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const hour = 3_600_000n;
/** A time in the billing time zone, UTC+9. */
const at = (text: string) => BigInt(Date.parse(`${text}+09:00`));
const started = at('2026-11-10T12:00:00');
const usage = (usageId: string, given: object = {}) => ({
  usageId,
  deviceId: imei(1),
  startedAtMs: started,
  durationMs: hour,
  ...given,
});
const activated = (n: number, epoch: bigint, when: string, given: object = {}) => ({
  deviceId: imei(n),
  epoch,
  kind: LifecycleKind.ACTIVATED,
  atMs: at(when),
  ...given,
});
const deactivated = (n: number, epoch: bigint, when: string, given: object = {}) =>
  activated(n, epoch, when, { kind: LifecycleKind.DEACTIVATED, ...given });

async function bill(month = 11, applicationId = 'app', year = 2026) {
  return toJson(GetBillResponseSchema, await world.billing.getBill({ applicationId, year, month }), {
    alwaysEmitImplicit: true,
  });
}

const device = (n: number, videoMeetingHours: number, speechRecognitionHours = 0, plans = {}) => ({
  deviceId: imei(n),
  plans,
  videoMeetingHours,
  speechRecognitionHours,
});
const zeros = {
  numberOfDevices: 0,
  devices: [],
  othersVideoMeetingHours: 0,
  othersSpeechRecognitionHours: 0,
};

test('a bill with everything in it', async () => {
  await world.change(
    activated(1, 1n, '2026-10-01T00:00:00'),
    activated(2, 1n, '2026-11-02T00:00:00'),
    deactivated(2, 2n, '2026-11-03T00:00:00'),
    activated(3, 1n, '2026-10-01T00:00:00'),
    deactivated(3, 2n, '2026-10-31T23:59:59'),
    activated(4, 1n, '2026-11-01T00:00:00', { applicationId: 'other' }),
  );
  await world.use(
    usage('u1', { durationMs: 1n }),
    usage('u2', { kind: UsageKind.SPEECH_RECOGNITION, durationMs: hour + 1n }),
    usage('u3', { deviceId: '', durationMs: 90n * 60_000n }),
    usage('u4', { deviceId: '', kind: UsageKind.SPEECH_RECOGNITION }),
    usage('u5', { deviceId: imei(9) }),
    usage('u6', { applicationId: 'other' }),
  );
  const plans = { videoMeeting: 'basic 100', speechRecognition: 'ja' };
  await world.admin.putPlans({ applicationId: 'app', deviceId: imei(1), plans });
  const whole = {
    numberOfDevices: 2,
    activateDevices: 1,
    devices: [device(1, 1, 2, plans), device(2, 0), device(9, 1)],
    othersVideoMeetingHours: 2,
    othersSpeechRecognitionHours: 1,
  };
  expect(await bill()).toEqual(whole);
  const shown = await world.admin.showBill({ applicationId: 'app', year: 2026, month: 11 });
  expect(shown.bill && toJson(GetBillResponseSchema, shown.bill, { alwaysEmitImplicit: true })).toEqual(
    whole,
  );
});

test('a device whose activation was canceled is not on the bill', async () => {
  await world.change(
    activated(1, 1n, '2026-11-02T00:00:00'),
    deactivated(1, 2n, '2026-11-03T00:00:00', { undone: true }),
  );
  expect(await bill()).toEqual({ ...zeros, activateDevices: 0 });
});

// proves api/3/billing-counts
test('only the bill of the current month has activateDevices, and the time zone decides when the month begins', async () => {
  await world.change(activated(1, 1n, '2026-10-15T00:00:00'));
  const one = { ...zeros, numberOfDevices: 1, devices: [device(1, 0)] };
  world.nowMs = Number(at('2026-11-30T23:59:59.999'));
  expect(await bill(10)).toEqual(one);
  expect(await bill(11)).toEqual({ ...one, activateDevices: 1 });
  expect(await bill(12)).toEqual(zeros);
  world.nowMs += 1;
  expect(await bill(11)).toEqual(one);
  expect(await bill(12)).toEqual({ ...one, activateDevices: 1 });
  expect(await bill(1, 'app', 2027)).toEqual(zeros);
});

test('the bill of a future month is all zeros, whatever is stored for it; so is the bill of an unknown application', async () => {
  await world.use(usage('u1', { startedAtMs: at('2026-12-05T00:00:00') }));
  await world.change(activated(1, 1n, '2026-11-05T00:00:00'));
  expect(await bill(12)).toEqual(zeros);
  expect(await bill(11, 'nobody')).toEqual({ ...zeros, activateDevices: 0 });
});

test.each([
  [2021, 12],
  [2022, 0],
  [2022, 13],
])('%d-%d is refused', async (year, month) => {
  await expect(world.billing.getBill({ applicationId: 'app', year, month })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});

test('usage that spans two months counts in each month with its part', async () => {
  await world.use(usage('u1', { startedAtMs: at('2026-10-31T22:30:00'), durationMs: 3n * hour }));
  expect(await bill(10)).toMatchObject({ devices: [device(1, 2)] });
  expect(await bill(11)).toMatchObject({ devices: [device(1, 2)] });
  expect(await bill(9)).toEqual(zeros);
});

test('another time zone gives other month boundaries for the same records', async () => {
  const berlin = await openWorld('Europe/Berlin');
  try {
    // The clocks go back on 25 October: the month ends at 23:00 UTC.
    const startedAtMs = BigInt(Date.UTC(2026, 9, 31, 22, 0));
    await berlin.use(usage('u1', { startedAtMs, durationMs: 2n * hour }));
    const hours = async (month: number) => {
      const { devices } = await berlin.billing.getBill({ applicationId: 'app', year: 2026, month });
      return devices.map((one) => one.videoMeetingHours);
    };
    expect([await hours(10), await hours(11)]).toEqual([[1], [1]]);
  } finally {
    await berlin.close();
  }
});

test('repeated usage, in the same batch or later, is billed once', async () => {
  await world.use(usage('u1'), usage('u1'));
  await world.use(usage('u1'), usage('u2'));
  expect(await bill()).toMatchObject({ devices: [device(1, 2)] });
});

test('late usage counts in the month in which it was used', async () => {
  const before = { ...zeros, devices: [] };
  expect(await bill(3)).toEqual(before);
  await world.use(usage('u1', { startedAtMs: at('2026-03-10T12:00:00') }));
  expect(await bill(3)).toEqual({ ...before, devices: [device(1, 1)] });
  expect(await bill(11)).toMatchObject({ devices: [] });
});

// protects against stores/false-usage
test('an id that is reused with other content becomes a dead letter; all other usage is kept', async () => {
  await world.use(usage('u1'));
  await world.use(usage('u2'), usage('u1', { durationMs: 50n * hour }), usage('u1'), usage('u3'));
  expect(await bill()).toMatchObject({ devices: [device(1, 3)] });
  const dead = await world.log.readNewest(deadLetterTopic(topics.usage), 10);
  expect(dead.map(({ headers }) => headers['dead-error'])).toEqual([
    'PoisonEventError: the usage is known with other content',
  ]);
});

test('a repeat is the same usage although its corrected start differs', async () => {
  const reportedStart = at('2026-11-03T12:00:00');
  const replaced = (startedAtMs: bigint) => ({ startedAtMs, reportedStartedAtMs: reportedStart });
  const other = { startedAtMs: reportedStart - 5n, reportedStartedAtMs: reportedStart + 1n };
  // Stored by a version that did not keep the reported start, and consumed again by this version.
  await world.use(
    usage('u3', { startedAtMs: reportedStart - 7n }),
    usage('u3', replaced(reportedStart - 7n)),
  );
  await world.use(usage('u1', { startedAtMs: reportedStart }), usage('u2', replaced(reportedStart - 1n)));
  await world.use(usage('u1', replaced(reportedStart - 2n)), usage('u2', replaced(reportedStart - 3n)));
  await world.use(usage('u2', { startedAtMs: reportedStart }), usage('u1', replaced(reportedStart - 4n)));
  const dead = () => world.log.readNewest(deadLetterTopic(topics.usage), 10);
  expect(await dead()).toEqual([]);
  await world.use(usage('u1', other));
  expect(await dead()).toHaveLength(1);
  expect(await bill()).toMatchObject({ devices: [device(1, 3)] });
});

// rule A24
test.each([
  ['no id', { usageId: '' }],
  ['an invalid application id', { applicationId: 'a/b' }],
  ['a device that is no IMEI', { deviceId: '12' }],
  ['no kind', { kind: UsageKind.UNSPECIFIED }],
  ['a duration below zero', { durationMs: -1n }],
  ['a duration beyond a year', { durationMs: 367n * 24n * hour }],
  ['a time before 1970', { startedAtMs: -1n }],
  ['a time beyond all calendars', { startedAtMs: 2n ** 60n }],
  ['a reported time beyond all numbers', { reportedStartedAtMs: 2n ** 63n - 1n }],
])('an event with %s becomes a dead letter and does not block other events', async (_, wrong) => {
  await world.use(usage('wrong', wrong), usage('right'));
  expect(await bill()).toMatchObject({ devices: [device(1, 1)] });
  expect(await world.log.readNewest(deadLetterTopic(topics.usage), 10)).toHaveLength(1);
});

test('activation changes may arrive in any order, late and repeatedly', async () => {
  const changes = [
    activated(1, 1n, '2026-09-01T00:00:00'),
    deactivated(1, 2n, '2026-10-10T00:00:00'),
    activated(1, 3n, '2026-10-12T00:00:00', { applicationId: 'other' }),
    deactivated(1, 4n, '2026-10-20T00:00:00', { applicationId: 'other' }),
    activated(1, 5n, '2026-11-05T00:00:00'),
  ];
  const [first, ...others] = changes.toReversed();
  for (const change of others) await world.change(change, change);
  expect(await bill()).toEqual({ ...zeros, activateDevices: 0 });
  await world.change(first as (typeof changes)[number], ...changes);
  const one = { ...zeros, numberOfDevices: 1, devices: [device(1, 0)] };
  expect(await bill(9)).toEqual(one);
  expect(await bill(10)).toEqual(one);
  expect(await bill(11)).toEqual({ ...one, activateDevices: 1 });
  expect(await bill(10, 'other')).toEqual(one);
  expect(await bill(11, 'other')).toEqual({ ...zeros, activateDevices: 0 });
});

test('a device that changes its application within the month is in both bills, each with its own usage', async () => {
  await world.change(
    activated(1, 1n, '2026-11-01T00:00:00'),
    deactivated(1, 2n, '2026-11-10T00:00:00'),
    activated(1, 3n, '2026-11-10T00:00:00', { applicationId: 'other' }),
  );
  await world.use(
    usage('u1', { durationMs: 2n * hour }),
    usage('u2', { applicationId: 'other', durationMs: 3n * hour }),
  );
  await world.admin.putPlans({ applicationId: 'app', deviceId: imei(1), plans: { videoMeeting: 'lite' } });
  const one = { ...zeros, numberOfDevices: 1 };
  expect(await bill()).toEqual({
    ...one,
    activateDevices: 0,
    devices: [device(1, 2, 0, { videoMeeting: 'lite' })],
  });
  expect(await bill(11, 'other')).toEqual({ ...one, activateDevices: 1, devices: [device(1, 3)] });
});

test.each([
  ['an unknown kind', { kind: LifecycleKind.UNSPECIFIED }],
  ['an epoch beyond numbers', { epoch: 2n ** 60n }],
  ['a device that is no IMEI', { deviceId: '12' }],
  ['an invalid application id', { applicationId: '' }],
])('a change with %s becomes a dead letter and does not block other changes', async (_, wrong) => {
  const right = activated(1, 1n, '2026-11-01T00:00:00');
  await world.change({ ...right, ...wrong }, right);
  expect(await bill()).toMatchObject({ numberOfDevices: 1 });
  await waitFor('it is a dead letter', async () => {
    return (await world.log.readNewest(deadLetterTopic(topics.deviceLifecycle), 10)).length === 1;
  });
});

test('an earlier month has the plans of its end; the current month has the current plans', async () => {
  await world.change(activated(1, 1n, '2026-08-01T00:00:00'));
  const put = async (when: string, plans: { videoMeeting?: string; speechRecognition?: string }) => {
    world.nowMs = Number(at(when));
    await world.admin.putPlans({ applicationId: 'app', deviceId: imei(1), plans });
  };
  await put('2026-09-10T00:00:00', { videoMeeting: 'lite' });
  await put('2026-09-30T23:59:59.999', { videoMeeting: 'basic 200' });
  await put('2026-10-01T00:00:00', { speechRecognition: 'ja' });
  await put('2026-11-21T00:00:00', {});
  const plans = async (month: number) => {
    const { devices } = await world.billing.getBill({ applicationId: 'app', year: 2026, month });
    return devices.map((one) => [one.plans?.videoMeeting, one.plans?.speechRecognition]);
  };
  expect(await plans(8)).toEqual([[undefined, undefined]]);
  expect(await plans(9)).toEqual([['basic 200', undefined]]);
  expect(await plans(10)).toEqual([[undefined, 'ja']]);
  expect(await plans(11)).toEqual([[undefined, undefined]]);
  await put('2026-11-21T00:00:00', { videoMeeting: 'lite' });
  expect(await plans(11)).toEqual([['lite', undefined]]);
});

describe.each(['after store billing.usage', 'after store billing.sheets'])(
  'a process that dies %s',
  (point) => {
    test('while it adds usage: the bill counts the usage once, before and after a repeat', async () => {
      const given = { ...usage('u1'), applicationId: 'app', kind: UsageKind.VIDEO_MEETING };
      world.cutAt = point;
      await expect(world.admin.addUsage({ usage: given })).rejects.toMatchObject({ code: 'internal' });
      expect(await bill()).toMatchObject({ devices: [device(1, 1)] });
      expect(await world.admin.addUsage({ usage: given })).toMatchObject({ added: false });
      expect(await bill()).toMatchObject({ devices: [device(1, 1)] });
      expect(await loose()).toBe(0);
    });

    test('while it consumes usage: no usage is lost or counted twice', async () => {
      world.cutAt = point;
      await world.use(usage('u1'), usage('u2', { deviceId: '' }), usage('u1'));
      expect(await bill()).toMatchObject({ devices: [device(1, 1)], othersVideoMeetingHours: 1 });
      expect(await loose()).toBe(0);
    });
  },
);

const loose = () => world.store.collection('usage').countDocuments({ loose: true });

test('usage that does not fit on a full sheet is still billed, once', async () => {
  const all = Array.from({ length: 2600 }, (_, n) => usage(`u${n}`, { durationMs: hour / 100n }));
  for (let first = 0; first < all.length; first += 650) await world.use(...all.slice(first, first + 650));
  await world.use(...all.slice(0, 100), ...all.slice(-100));
  expect(await bill()).toMatchObject({ devices: [device(1, 26)] });
  expect(await loose()).toBeGreaterThan(0);
}, 60_000);

test('a bill is the sum of the usage, including usage that spans months or is repeated', async () => {
  let seed = 20261121;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const [from, to] = [Number(at('2026-10-01T00:00:00')), Number(at('2026-11-01T00:00:00'))];
  const day = 24 * 3_600_000;
  const all = Array.from({ length: 300 }, (_, n) => {
    const near = [from, to, from + 15 * day][random(3)] as number;
    const startedAtMs = near + random(4 * day) - 2 * day;
    const durationMs = random([1000, 3_600_000, 3 * day, 40 * day][random(4)] as number);
    return { usageId: `r${n}`, deviceId: imei(random(5)), startedAtMs, durationMs };
  });
  const sums = new Map<string, number>();
  for (const { deviceId, startedAtMs, durationMs } of all) {
    const ms = Math.min(startedAtMs + durationMs, to) - Math.max(startedAtMs, from);
    if (ms > 0) sums.set(deviceId, (sums.get(deviceId) ?? 0) + ms);
  }
  for (let round = 0; round < 3; round++) {
    const some = all.filter(() => round === 2 || random(2) === 0);
    await world.use(
      ...some.map((one) => ({
        ...one,
        startedAtMs: BigInt(one.startedAtMs),
        durationMs: BigInt(one.durationMs),
      })),
    );
  }
  const { devices } = await world.billing.getBill({ applicationId: 'app', year: 2026, month: 10 });
  expect(devices.map((one) => [one.deviceId, one.videoMeetingHours])).toEqual(
    [...sums].sort().map(([deviceId, ms]) => [deviceId, Math.ceil(ms / 3_600_000)]),
  );
}, 60_000);

describe('operators', () => {
  test('plans are listed by device, without those of other applications', async () => {
    const put = (applicationId: string, n: number, plans: object) =>
      world.admin.putPlans({ applicationId, deviceId: imei(n), plans });
    await put('app', 2, { videoMeeting: 'lite' });
    await put('app', 1, { speechRecognition: 'ja' });
    await put('other', 3, { videoMeeting: 'lite' });
    await put('app', 2, { videoMeeting: 'basic 100', speechRecognition: 'ja' });
    const { plans } = await world.admin.listPlans({ applicationId: 'app' });
    expect(plans).toMatchObject([
      { deviceId: imei(1), plans: { speechRecognition: 'ja' } },
      { deviceId: imei(2), plans: { videoMeeting: 'basic 100', speechRecognition: 'ja' } },
    ]);
  });

  test('concurrent changes of plans are applied one after the other, and none is lost', async () => {
    const words = ['lite', 'basic 100', 'basic 200'];
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        world.admin.putPlans({
          applicationId: 'app',
          deviceId: imei(1),
          plans: { videoMeeting: words[n % 3] as string },
        }),
      ),
    );
    const stored = await world.store
      .collection<{ _id: string; revision: number; history: unknown[] }>('plans')
      .findOne({ _id: `app/${imei(1)}` });
    expect(stored?.history.length).toBe(stored?.revision);
  });

  test.each([
    [{ applicationId: 'app', deviceId: imei(1) }, 'plans'],
    [{ applicationId: '', deviceId: imei(1), plans: {} }, 'application_id'],
    [{ applicationId: 'app', deviceId: '1', plans: {} }, 'device_id'],
    [{ applicationId: 'app', deviceId: imei(1), plans: { videoMeeting: 'gold' } }, 'video_meeting'],
    [{ applicationId: 'app', deviceId: imei(1), plans: { speechRecognition: 'en' } }, 'speech_recognition'],
  ])('wrong plans are rejected: %j', async (given, field) => {
    await expect(world.admin.putPlans(given)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field),
    });
  });

  test('usage is added once; the same id with other content is rejected', async () => {
    const given = { ...usage('u1'), applicationId: 'app', kind: UsageKind.VIDEO_MEETING };
    expect(await world.admin.addUsage({ usage: given })).toMatchObject({ added: true });
    expect(await world.admin.addUsage({ usage: given })).toMatchObject({ added: false });
    for (const other of [
      { applicationId: 'other' },
      { deviceId: '' },
      { kind: UsageKind.SPEECH_RECOGNITION },
      { startedAtMs: started + 1n },
      { durationMs: hour + 1n },
    ]) {
      await expect(world.admin.addUsage({ usage: { ...given, ...other } })).rejects.toMatchObject({
        code: 'conflict',
      });
    }
    await expect(world.admin.addUsage({})).rejects.toMatchObject({ code: 'invalid_argument' });
    // The same usage, once metered and once added by an operator.
    await world.use(usage('u1'));
    expect(await bill()).toMatchObject({ devices: [device(1, 1)] });
  });

  test('the same usage added several times concurrently is new once', async () => {
    const given = { ...usage('u1'), applicationId: 'app', kind: UsageKind.VIDEO_MEETING };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.admin.addUsage({ usage: given })),
    );
    expect(answers.filter(({ added }) => added)).toHaveLength(1);
  });

  test('usage is listed oldest first, in pages, including usage that spans months', async () => {
    await world.use(
      usage('late', { startedAtMs: started + 2n }),
      usage('early', { startedAtMs: started }),
      usage('middle', { startedAtMs: started + 1n }),
      usage('over', { startedAtMs: at('2026-10-31T23:30:00') }),
      usage('none', { startedAtMs: at('2026-11-01T00:00:00'), durationMs: 0n }),
      usage('before', { startedAtMs: at('2026-10-31T23:00:00') }),
      usage('after', { startedAtMs: at('2026-12-01T00:00:00') }),
      usage('foreign', { applicationId: 'other' }),
    );
    const list = async (limit = 0, offset = 0) => {
      const request = { applicationId: 'app', year: 2026, month: 11, limit, offset };
      return (await world.admin.listUsage(request)).usage.map(({ usageId }) => usageId);
    };
    expect(await list()).toEqual(['over', 'none', 'early', 'middle', 'late']);
    expect(await list(2)).toEqual(['over', 'none']);
    expect(await list(2, 2)).toEqual(['early', 'middle']);
    expect(await list(2, 4)).toEqual(['late']);
    expect(await list(2, 5)).toEqual([]);
    await expect(list(1001)).rejects.toMatchObject({ code: 'invalid_argument' });
    const { usage: whole } = await world.admin.listUsage({ applicationId: 'other', year: 2026, month: 11 });
    expect(whole).toMatchObject([
      { ...usage('foreign'), applicationId: 'other', kind: UsageKind.VIDEO_MEETING },
    ]);
  });
});

onEmbedded('a bill reads only records of its own month and application', async () => {
  const many = 400;
  for (const applicationId of ['app', 'other']) {
    await world.use(
      ...Array.from({ length: many }, (_, n) =>
        usage(`${applicationId}-${n}`, {
          applicationId,
          deviceId: imei(n % 20),
          startedAtMs: started - BigInt(n % 4) * 30n * 24n * hour,
        }),
      ),
    );
    await world.change(
      ...Array.from({ length: 20 }, (_, n) =>
        activated(applicationId === 'app' ? n : 100 + n, 1n, '2026-07-01T00:00:00', { applicationId }),
      ),
    );
  }
  const before = world.documentsExamined();
  expect(await bill()).toMatchObject({ numberOfDevices: 20, activateDevices: 20 });
  expect(world.documentsExamined() - before).toBeLessThanOrEqual(many / 4 + 20);
});

test('a bill of thousands of devices', async () => {
  const count = 3000;
  const portion = 1500;
  for (let first = 0; first < count; first += portion) {
    const devices = Array.from({ length: portion }, (_, n) => first + n);
    await world.change(...devices.map((n) => activated(n, 1n, '2026-11-01T00:00:00')));
    await world.use(
      ...devices.map((n) => usage(`u${n}`, { deviceId: imei(n), durationMs: BigInt(n % 3) * hour })),
    );
  }
  const wanted = { applicationId: 'app', year: 2026, month: 11 };
  const found = await world.billing.getBill(wanted, { deadlineMs: 60_000 });
  expect([found.numberOfDevices, found.activateDevices]).toEqual([count, count]);
  expect(found.devices.map(({ deviceId, videoMeetingHours }) => [deviceId, videoMeetingHours])).toEqual(
    Array.from({ length: count }, (_, n) => [imei(n), n % 3]),
  );
}, 180_000);

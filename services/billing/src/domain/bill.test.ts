import type { LifecycleChange } from './activity.ts';
import { BillSum } from './bill.ts';
import { changedPlans, noPlans, type PlansEntry, plansBefore, requirePlans } from './plans.ts';

const hour = 3_600_000;
const span = { fromMs: 1000 * hour, toMs: 1744 * hour };
const none = { videoMeeting: 0, speechRecognition: 0 };
const video = (deviceId: string, startedAtMs: number, durationMs: number) =>
  ({ deviceId, kind: 'videoMeeting', startedAtMs, durationMs }) as const;
const speech = (deviceId: string, startedAtMs: number, durationMs: number) =>
  ({ deviceId, kind: 'speechRecognition', startedAtMs, durationMs }) as const;

function billOf(...usages: Parameters<BillSum['addUsage']>[0][]) {
  const sum = new BillSum(span);
  for (const usage of usages) sum.addUsage(usage);
  return sum.bill(false);
}

describe('hours', () => {
  test.each([
    [0, undefined],
    [1, 1],
    [hour - 1, 1],
    [hour, 1],
    [hour + 1, 2],
    [2 * hour, 2],
  ])('%d ms are %p hours', (ms, hours) => {
    expect(billOf(video('d', span.fromMs, ms)).devices).toEqual(
      hours === undefined
        ? []
        : [{ deviceId: 'd', plans: noPlans, hours: { videoMeeting: hours, speechRecognition: 0 } }],
    );
  });

  // proves api/9/usage-hours
  test('are rounded once for the month, separately for each kind and device', () => {
    const at = span.fromMs;
    const bill = billOf(
      ...Array.from({ length: 60 }, (_, n) => video('a', at + n * hour, 60_000)),
      speech('a', at, 1),
      video('b', at, 1),
      video('b', at + hour, hour),
      video('', at, hour / 2),
      video('', at, hour / 2),
      speech('', at, hour + 1),
    );
    expect(bill).toEqual({
      numberOfDevices: 0,
      devices: [
        { deviceId: 'a', plans: noPlans, hours: { videoMeeting: 1, speechRecognition: 1 } },
        { deviceId: 'b', plans: noPlans, hours: { videoMeeting: 2, speechRecognition: 0 } },
      ],
      others: { videoMeeting: 1, speechRecognition: 2 },
    });
  });

  // protects against headsets/usage
  test('of a device’s speech never exceed the month, however often the device reports the same day', () => {
    const many = Array.from({ length: 1000 }, () => speech('a', span.fromMs, 24 * hour));
    const { devices, others } = billOf(
      ...many,
      speech('b', span.fromMs, 24 * hour),
      speech('', span.fromMs, hour),
    );
    expect(devices.map(({ hours }) => hours.speechRecognition)).toEqual([744, 24]);
    expect(others.speechRecognition).toBe(1);
    // Concurrent calls of one device all count.
    expect(
      billOf(...many.map((one) => ({ ...one, kind: 'videoMeeting' as const }))).devices[0]?.hours
        .videoMeeting,
    ).toBe(24_000);
  });

  test.each([
    ['ends with the first moment', -hour, hour, 0],
    ['ends just after the first moment', -hour, hour + 1, 1],
    ['begins with the first moment', 0, hour, 1],
    ['goes over the first moment', -2 * hour, 3 * hour, 1],
  ])('usage that %s of the month counts with its part in the month', (_, from, duration, hours) => {
    const [device] = billOf(video('d', span.fromMs + from, duration)).devices;
    expect(device?.hours.videoMeeting ?? 0).toBe(hours);
  });

  test.each([
    ['begins with the next month', 0, hour, 0],
    ['begins just before the next month', -1, hour, 1],
    ['ends with the month', -hour, hour, 1],
    ['goes over the end', -2 * hour, 3 * hour, 2],
  ])('usage that %s counts with its part in the month', (_, from, duration, hours) => {
    const [device] = billOf(video('d', span.toMs + from, duration)).devices;
    expect(device?.hours.videoMeeting ?? 0).toBe(hours);
  });

  test('usage longer than the month counts the whole month and no more', () => {
    const [device] = billOf(video('d', 0, 10_000 * hour)).devices;
    expect(device?.hours.videoMeeting).toBe(744);
  });

  test('for usage that spans two months the parts add up exactly, in milliseconds', () => {
    const over = video('d', span.toMs - 30 * 60_000, hour);
    const after = new BillSum({ fromMs: span.toMs, toMs: span.toMs + 720 * hour });
    after.addUsage(over);
    after.addUsage(video('d', span.toMs + hour, 30 * 60_000));
    const before = billOf(over, video('d', span.fromMs, 30 * 60_000));
    expect(before.devices[0]?.hours.videoMeeting).toBe(1);
    expect(after.bill(false).devices[0]?.hours.videoMeeting).toBe(1);
  });
});

describe('devices of the month', () => {
  const change = (
    deviceId: string,
    epoch: number,
    kind: LifecycleChange['kind'],
    atMs: number,
  ): LifecycleChange => ({ applicationId: 'app', deviceId, epoch, kind, atMs });

  function counts(changes: LifecycleChange[]) {
    const sum = new BillSum(span);
    for (const one of changes) sum.addChange(one);
    const { numberOfDevices, activateDevices, devices } = sum.bill(true);
    expect(devices.map(({ hours }) => hours)).toEqual(devices.map(() => none));
    return [numberOfDevices, activateDevices, devices.map(({ deviceId }) => deviceId)];
  }
  const { fromMs, toMs } = span;

  test('an activation that was canceled does not count; one before or after it does', () => {
    const canceled = [
      change('d', 1, 'activated', fromMs + 1),
      { ...change('d', 2, 'deactivated', fromMs + 2), undone: true as const },
    ];
    expect(counts(canceled)).toEqual([0, 0, []]);
    const next = [change('d', 3, 'activated', fromMs + 3), change('d', 4, 'deactivated', fromMs + 4)];
    expect(counts([...canceled, ...next])).toEqual([1, 0, ['d']]);
    const later = canceled.map((one) => ({ ...one, epoch: one.epoch + 4 }));
    expect(counts([...next, ...later])).toEqual([1, 0, ['d']]);
  });

  test.each<[string, [number, LifecycleChange['kind'], number][], number, number]>([
    ['activated before it and since', [[1, 'activated', 5]], 1, 1],
    ['activated in it', [[1, 'activated', fromMs]], 1, 1],
    ['activated in its last moment', [[1, 'activated', toMs - 1]], 1, 1],
    ['activated after it', [[1, 'activated', toMs]], 0, 1],
    [
      'deactivated before it',
      [
        [1, 'activated', 5],
        [2, 'deactivated', fromMs - 1],
      ],
      0,
      0,
    ],
    [
      'deactivated with its first moment',
      [
        [1, 'activated', 5],
        [2, 'deactivated', fromMs],
      ],
      0,
      0,
    ],
    [
      'deactivated just after',
      [
        [1, 'activated', 5],
        [2, 'deactivated', fromMs + 1],
      ],
      1,
      0,
    ],
    [
      'activated for no time at all',
      [
        [1, 'activated', fromMs],
        [2, 'deactivated', fromMs],
      ],
      1,
      0,
    ],
    [
      'deactivated by a clock that was set back',
      [
        [1, 'activated', fromMs + 9],
        [2, 'deactivated', 5],
      ],
      1,
      0,
    ],
    [
      'activated twice in it',
      [
        [1, 'activated', fromMs],
        [2, 'deactivated', fromMs + 1],
        [3, 'activated', fromMs + 2],
      ],
      1,
      1,
    ],
    [
      'given another client id',
      [
        [1, 'activated', 5],
        [2, 'activated', fromMs],
        [3, 'deactivated', fromMs + 1],
      ],
      1,
      0,
    ],
    ['deactivated, its activation unknown', [[2, 'deactivated', fromMs + 1]], 0, 0],
  ])('%s', (_, changes, inMonth, now) => {
    const given = changes.map(([epoch, kind, atMs]) => change('d', epoch, kind, atMs));
    expect(counts(given)).toEqual([inMonth, now, inMonth ? ['d'] : []]);
  });

  test('are listed by id with their plans, also if they used nothing or were never activated', () => {
    const sum = new BillSum(span);
    sum.addUsage(video('z', fromMs, 1));
    sum.addChange(change('a', 1, 'activated', 5));
    sum.addChange(change('m', 1, 'activated', 5));
    sum.addChange(change('m', 2, 'deactivated', 6));
    const plans = requirePlans('basic 100', 'ja');
    for (const deviceId of ['a', 'm', 'x']) sum.addPlans(deviceId, plans);
    expect(sum.bill(true)).toEqual({
      numberOfDevices: 1,
      activateDevices: 1,
      devices: [
        { deviceId: 'a', plans, hours: none },
        { deviceId: 'z', plans: noPlans, hours: { videoMeeting: 1, speechRecognition: 0 } },
      ],
      others: none,
    });
  });
});

describe('plans', () => {
  test.each([
    ['lite', undefined],
    ['basic 100', 'ja'],
    ['basic 200', undefined],
    [undefined, 'ja'],
    [undefined, undefined],
  ])('%p with %p', (video, speech) => {
    expect(requirePlans(video, speech)).toEqual({
      videoMeeting: video ?? null,
      speechRecognition: speech ?? null,
    });
  });

  test.each([
    ['basic', undefined, 'video_meeting'],
    ['', undefined, 'video_meeting'],
    ['basic-100', undefined, 'video_meeting'],
    [undefined, 'en', 'speech_recognition'],
    [undefined, '', 'speech_recognition'],
  ])('%p with %p is rejected, and the error names the wrong field', (video, speech, field) => {
    expect(() => requirePlans(video, speech)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(field) }),
    );
  });

  test('hold from the moment of their change; the same ones change nothing', () => {
    const lite = requirePlans('lite', undefined);
    expect(changedPlans([], noPlans, 5)).toBeUndefined();
    const first = changedPlans([], lite, 10) as PlansEntry[];
    expect(changedPlans(first, lite, 20)).toBeUndefined();
    const second = changedPlans(first, noPlans, 20) as PlansEntry[];
    expect([10, 11, 20, 21].map((atMs) => plansBefore(second, atMs))).toEqual([noPlans, lite, lite, noPlans]);
  });

  test('a clock that was set back keeps the order of the changes', () => {
    const lite = requirePlans('lite', undefined);
    const history = changedPlans(changedPlans([], lite, 100) ?? [], noPlans, 50) ?? [];
    expect(plansBefore(history, 101)).toEqual(noPlans);
  });
});

import { randomBytes } from 'node:crypto';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctl, ctlJson } from './ctl.ts';
import { ago, createTenant, describeOnStack, type Tenant } from './harness.ts';
import { startSora } from './sora.ts';

const hourMs = 3_600_000;
/** The default of BILLING_TIME_ZONE is UTC+9. */
const zoneMs = 9 * hourMs;
/** The month in which a test began. */
let [year, month] = [0, 0];
const shifted = (months: number) => {
  const at = new Date(Date.UTC(year, month - 1 + months));
  return [at.getUTCFullYear(), at.getUTCMonth() + 1] as const;
};
/** Start of the month this many months from now, in the billing time zone. */
const monthStartMs = (months: number) => Date.UTC(year, month - 1 + months) - zoneMs;
const ctlMonth = (months: number) => {
  const [y, m] = shifted(months);
  return `${y}-${String(m).padStart(2, '0')}`;
};

const readMonth = () => {
  const here = new Date(Date.now() + zoneMs);
  [year, month] = [here.getUTCFullYear(), here.getUTCMonth() + 1];
};
const monthHasEnded = () => Date.now() >= monthStartMs(1);

const noPlans = { videoMeeting: null, speechRecognition: null };
const nothing = {
  numberOfDevices: 0,
  devices: [],
  others: { amountVideoMeeting: 0, amountSpeechRecognition: 0 },
};

describeOnStack('billing', () => {
  let tenant: Tenant;
  let other: Tenant;
  let first: HeadsetKeyFile;
  let second: HeadsetKeyFile;
  let unique: string;

  async function open() {
    readMonth();
    unique = randomBytes(4).toString('hex');
    tenant = await createTenant({ devices: 2 });
    [first, second] = [...tenant.devices].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1)) as [
      HeadsetKeyFile,
      HeadsetKeyFile,
    ];
    other = await createTenant({ alsoDevices: [first] });
  }
  const close = () => Promise.all([tenant.close(), other.close()]);
  beforeEach(open);
  afterEach(close);

  /** Repeats a test of the current month if that month ended during the test. */
  const inOneMonth = (test: () => Promise<void>) => async () => {
    for (;;) {
      try {
        return await test();
      } catch (error) {
        if (!monthHasEnded()) throw error;
        await close();
        await open();
      }
    }
  };

  async function bill(months = 0, of = tenant) {
    const [y, m] = shifted(months);
    return (await of.call(200, 'GET', `/billing?year=${y}&month=${m}`)).body;
  }
  /** Waits for the bill: activations and usage arrive a little later. */
  async function becomes(expected: object, months = 0, of = tenant) {
    let last: unknown;
    await waitFor('the bill', async () => {
      last = await bill(months, of);
      return JSON.stringify(last) === JSON.stringify(expected);
    }).catch(() => expect(last).toEqual(expected));
  }
  async function used(
    name: string,
    given: { device?: string; kind?: string; startMs: number; forMs: number },
  ) {
    const { device, kind = 'video', startMs, forMs } = given;
    const started = new Date(startMs).toISOString();
    return ctlJson(
      ...['usage', 'add', `${name}-${unique}`, tenant.applicationId, '--kind', kind, '--started', started],
      ...['--duration-ms', String(forMs), ...(device ? ['--device', device] : [])],
    );
  }
  const device = (
    deviceId: string,
    amountVideoMeeting: number,
    amountSpeechRecognition: number,
    plans = {},
  ) => ({
    ...{ deviceId, plans: { ...noPlans, ...plans }, amountVideoMeeting, amountSpeechRecognition },
  });

  // proves api/3/plan, api/3/billing-devices, api/3/billing-others, api/7/billing, api/9/usage-hours
  it(
    'the current month has devices, plans, hours and usage of unknown devices',
    inOneMonth(async () => {
      await tenant.activate(first);
      await tenant.activate(second);
      const { deviceId } = first;
      await ctlJson('plans', 'put', tenant.applicationId, deviceId, '--video', 'basic-100', '--speech', 'ja');
      const startMs = monthStartMs(0) + 1000;
      await used('one', { device: deviceId, startMs, forMs: hourMs });
      await used('two', { device: deviceId, startMs, forMs: 1 });
      await used('three', { device: second.deviceId, kind: 'speech', startMs, forMs: hourMs });
      await used('four', { startMs, forMs: 1 });
      await used('five', { kind: 'speech', startMs, forMs: hourMs + 1 });
      const plans = { videoMeeting: 'basic 100', speechRecognition: 'ja' };
      await becomes({
        numberOfDevices: 2,
        activateDevices: 2,
        devices: [device(deviceId, 2, 0, plans), device(second.deviceId, 0, 1)],
        others: { amountVideoMeeting: 1, amountSpeechRecognition: 2 },
      });
      const shown = await ctlJson('bill', 'show', tenant.applicationId, '--month', ctlMonth(0));
      expect(shown.bill).toEqual({
        numberOfDevices: 2,
        activateDevices: 2,
        devices: [
          { deviceId, plans, videoMeetingHours: 2, speechRecognitionHours: 0 },
          { deviceId: second.deviceId, plans: {}, videoMeetingHours: 0, speechRecognitionHours: 1 },
        ],
        othersVideoMeetingHours: 1,
        othersSpeechRecognitionHours: 2,
      });
      const { usage } = await ctlJson('usage', 'list', tenant.applicationId, '--month', ctlMonth(0));
      expect(usage.map((u: { usageId: string }) => u.usageId).sort()).toEqual(
        ['one', 'two', 'three', 'four', 'five'].map((name) => `${name}-${unique}`).sort(),
      );
      expect((await ctlJson('plans', 'list', tenant.applicationId)).plans).toEqual([{ deviceId, plans }]);
      expect(await bill(0, other)).toEqual({ ...nothing, numberOfDevices: 0, activateDevices: 0 });
    }),
  );

  // proves api/3/billing-counts
  it(
    'returns activateDevices for the current month only; a future month has zeros',
    inOneMonth(async () => {
      await tenant.activate(first);
      await used('late', { device: first.deviceId, startMs: monthStartMs(0) - hourMs / 2, forMs: hourMs });
      await used('ahead', { device: first.deviceId, startMs: monthStartMs(1), forMs: hourMs });
      // Across the end of the month: half an hour in each month.
      const devices = [device(first.deviceId, 1, 0)];
      await becomes({ numberOfDevices: 1, activateDevices: 1, devices, others: nothing.others });
      expect(await bill(-1)).toEqual({ ...nothing, devices });
      expect(await bill(1)).toEqual(nothing);
      expect(await bill(-2)).toEqual(nothing);
    }),
  );

  it(
    'a device that changes its application is listed in both, each with its own usage',
    inOneMonth(async () => {
      await tenant.activate(first);
      const headset = tenant.headset(first);
      headset.connect();
      await waitFor('the activation', () => headset.journal.activationEpoch > 0);
      // The start must not be in the previous month.
      const startedAtMs = BigInt(Math.max(ago(2000), monthStartMs(0)));
      const speech = { case: 'speechUsage', value: { startedAtMs, durationMs: 1000n } } as const;
      headset.report(speech);
      await becomes({
        numberOfDevices: 1,
        activateDevices: 1,
        devices: [device(first.deviceId, 0, 1)],
        others: nothing.others,
      });
      const left = (await tenant.call(201, 'DELETE', `/devices/${first.deviceId}`)).body.transactionId;
      await tenant.ended(left);
      await becomes({
        numberOfDevices: 1,
        activateDevices: 0,
        devices: [device(first.deviceId, 0, 1)],
        others: nothing.others,
      });
      await other.ended(await other.activate(first));
      await becomes(
        {
          numberOfDevices: 1,
          activateDevices: 1,
          devices: [device(first.deviceId, 0, 0)],
          others: nothing.others,
        },
        0,
        other,
      );
      headset.report(speech);
      headset.report({ case: 'speechUsage', value: { startedAtMs, durationMs: 500n } });
      await becomes(
        {
          numberOfDevices: 1,
          activateDevices: 1,
          devices: [device(first.deviceId, 0, 1)],
          others: nothing.others,
        },
        0,
        other,
      );
      expect((await bill()).devices).toEqual([device(first.deviceId, 0, 1)]);
    }),
  );

  // rule A24
  it(
    'usage that began before the activation, by wrong clocks of headsets or Sora, is in the month of its arrival',
    inOneMonth(async () => {
      await tenant.activate(first);
      const headset = tenant.headset(first);
      headset.connect();
      await waitFor('the activation', () => headset.journal.activationEpoch > 0);
      const weeks1024 = 1024 * 7 * 24 * hourMs;
      for (const startedAtMs of [0, 1000, ago(weeks1024), ago(40 * 24 * hourMs)])
        headset.report({
          case: 'speechUsage',
          value: { startedAtMs: BigInt(startedAtMs), durationMs: BigInt(hourMs) },
        });
      await becomes({
        numberOfDevices: 1,
        activateDevices: 1,
        devices: [device(first.deviceId, 0, 4)],
        others: nothing.others,
      });
      const sora = await startSora();
      const { channelId } = (await tenant.call(201, 'POST', '/channels', { soraVersion: sora.version })).body;
      const meeting = sora.sora.join(channelId, { deviceId: first.deviceId }, 1000);
      expect(await sora.sora.created(meeting).send()).toBe(200);
      expect(await sora.sora.destroyed(meeting).send()).toBe(200);
      await sora.close();
      await becomes({
        numberOfDevices: 1,
        activateDevices: 1,
        devices: [device(first.deviceId, 1, 4)],
        others: nothing.others,
      });
      expect(await bill(-1)).toEqual(nothing);
    }),
  );

  // protects against stores/false-usage
  it(
    'counts the same usage once, and rejects other content under its id',
    inOneMonth(async () => {
      const startMs = monthStartMs(0);
      const given = { device: first.deviceId, startMs, forMs: hourMs };
      expect(await used('one', given)).toEqual({ added: true });
      expect(await used('one', given)).toEqual({ added: false });
      const run = await ctl(
        ...['usage', 'add', `one-${unique}`, tenant.applicationId, '--kind', 'speech'],
        ...['--started', new Date(startMs).toISOString(), '--duration-ms', '1'],
      );
      expect(run).toEqual({
        exitCode: 1,
        out: '',
        err: `The usage one-${unique} is known with other content.\n`,
      });
      expect(await bill()).toEqual({
        ...nothing,
        numberOfDevices: 0,
        activateDevices: 0,
        devices: [device(first.deviceId, 1, 0)],
      });
    }),
  );

  // proves api/5/billing-month, api/5/billing-year
  it.each([
    ['month=1', 'year'],
    ['year=2026', 'month'],
    ['', ''],
    ['year=2021&month=12', 'year'],
    ['year=10000&month=1', 'year'],
    ['year=2022&month=0', 'month'],
    ['year=2022&month=13', 'month'],
    ['year=2022&month=-1', 'month'],
    ['year=2022&month=1.5', 'month'],
    ['year=abc&month=1', 'year'],
    ['year=&month=1', 'year'],
    ['year=2022&year=2022&month=1', 'year'],
  ])('?%s is 400 and names the parameter', async (query, parameter) => {
    const { body } = await tenant.call(400, 'GET', `/billing?${query}`);
    expect(body).toEqual({ message: expect.stringContaining(parameter) });
  });

  // Rule A22.
  it.each(['year=2022&month=1', 'year=2022&month=12', 'year=9999&month=12'])(
    '?%s can be requested',
    async (query) => {
      expect((await tenant.call(200, 'GET', `/billing?${query}`)).body).toEqual(nothing);
    },
  );
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { ReportSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Action, apply } from './actions.ts';
import type { Headset } from './headset.ts';
import { runScript, type Step } from './script.ts';
import { Cloud, deviceId } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';

let cloud: Cloud;
let made: Headset;
const time = createFakeTime();
let headsets: Map<string, Headset>;
beforeEach(async () => {
  cloud = new Cloud();
  cloud.clock = time;
  await cloud.start();
  made = await cloud.online();
  headsets = new Map([[deviceId, made]]);
});
afterEach(() => cloud.close());

const bodies: [string, object][] = [
  [
    'stateChange',
    {
      ...{ power: 'started', wearing: 'device_wear', network: 'connectivity_online' },
      ...{ charging: 'start_charging', batteryPercentage: 80 },
      location: { latitude: 35.5, longitude: 139.7 },
    },
  ],
  ['customData', { success: true, customData: 'text' }],
  ['appStatus', { status: 'started', text: 'guide' }],
  ['networkLevel', { networkType: 'NETWORK_TYPE_WIFI', active: true, networkName: 'office', level: 4 }],
  ['volume', { min: 1, max: 16, current: 3 }],
  ['signal', { level: 4 }],
  ['bluetoothSwitch', { enabled: true }],
  [
    'bluetoothConnection',
    {
      ...{ transactionId: '7', statusCode: 200, message: 'connected' },
      devices: [
        {
          ...{ mode: 'BLUETOOTH_MODE_CONNECTED', registered: true },
          ...{ name: 'Watch', alias: 'w', address: '02:00:00:00:00:0B' },
        },
      ],
    },
  ],
  ['inventory', { firmwareVersion: '9', apps: [{ package: 'a', version: '1' }], languages: ['ja'] }],
  ['speechUsage', { startedAtMs: '1767225600000', durationMs: '5000' }],
];

describe('a report by an action', () => {
  it.each(bodies)('of %s is sent unchanged, with the taken epoch', async (kind, body) => {
    cloud.offer(1, { case: 'activate', value: { applicationId: 'A' } }, 'activate', 5);
    await cloud.result(1);
    const last = cloud.reports.length;
    const { lastReportId } = made.journal;
    expect(apply(headsets, { action: 'report', deviceId, [kind]: body })).toBe(1);
    const report = await waitFor('the report', () => cloud.reports[last]);
    const { reportId, occurredAtMs, ...reported } = toJson(ReportSchema, report) as Record<string, unknown>;
    expect(reported).toEqual({ [kind]: body, activationEpoch: '5' });
    expect(reportId).toBe(String(lastReportId + 1));
    expect(occurredAtMs).toBe(String(time.now()));
  });

  it('can set another time and epoch', async () => {
    apply(headsets, { action: 'report', signal: { level: 1 }, occurredAtMs: '1000', activationEpoch: '0' });
    const report = await waitFor('the report', () => cloud.reports[0]);
    expect([report.occurredAtMs, report.activationEpoch]).toEqual([1000n, 0n]);
  });

  it.each<[string, Action]>([
    ['a report needs', { action: 'report' }],
    ['nothing', { action: 'report', nothing: {} }],
    ['level', { action: 'report', signal: { level: 'much' } }],
    ['has no colour', { action: 'content', content: { colour: 'red' } as object }],
    ['no behaviour is named colour', { action: 'set', behaviour: { colour: 'red' } as object }],
    ['upload needs path or sizeBytes', { action: 'upload', file: 'a' }],
    ['unknown action', { action: 'dance' } as unknown as Action],
  ])('an invalid action throws an error that names the problem: %s', (message, action) => {
    expect(() => apply(headsets, action)).toThrow(message);
    expect(made.journal.reports.size).toBe(0);
  });
});

describe('a change of the content by an action', () => {
  it('changes the headset, and is reported if the inventory changes', async () => {
    apply(headsets, { action: 'content', content: { bluetoothOn: false } });
    apply(headsets, { action: 'content', content: { firmwareVersion: '9.003.0' } });
    await waitFor('the inventory', () => cloud.reports.length === 1);
    expect(cloud.reported('inventory')).toMatchObject([
      { firmwareVersion: '9.003.0', apps: [], languages: ['ja'] },
    ]);
    expect(made.device.state).toMatchObject({ bluetoothOn: false, firmwareVersion: '9.003.0' });
  });
});

describe('a script', () => {
  it('waits for the effect of an operation, and uses each effect once', async () => {
    const done: string[] = [];
    const run = runScript(headsets, [
      { action: 'set', behaviour: { effectMs: 1 } },
      { action: 'await', effect: 'languages' },
      { action: 'report', customData: { customData: 'first' } },
      { action: 'await', effect: 'languages', deviceId },
      { action: 'report', customData: { customData: 'second' } },
    ]).then(() => done.push('script'));
    cloud.offer(1, { case: 'applyLanguages', value: { languages: ['en'] } }, 'languages');
    await waitFor('the first', () => cloud.reported('customData').length === 1);
    await cloud.result(1);
    expect(done).toEqual([]);
    cloud.offer(2, { case: 'applyLanguages', value: { languages: ['fr'] } }, 'languages');
    await run;
    await waitFor('the second', () => cloud.reported('customData').length === 2);
  });

  it('of the README runs an update, a report, a pairing and an upload', async () => {
    const readme = readFileSync(join(process.cwd(), 'services/demo/src/headset/README.md'), 'utf8');
    const example = [...readme.matchAll(/```json\n(.*?)```/gs)].at(-1)?.[1] ?? '';
    const files = new FileServer(200_000);
    await files.start();
    try {
      cloud.onUrl = () => ({ url: files.url('file') });
      cloud.offer(1, { case: 'activate', value: { applicationId: 'app-1' } }, 'activate');
      await cloud.result(1);
      const script = runScript(headsets, JSON.parse(example) as Step[]);
      const artifact = files.artifact();
      cloud.offer(
        2,
        { case: 'updateApp', value: { package: 'com.example.guide', version: '2.1', artifact } },
        'put-v1-applications-devices-apps',
      );
      cloud.offer(
        3,
        { case: 'addPairing', value: { macAddress: '02:00:00:00:00:0A' } },
        'post-v1-applications-bluetooth-device',
      );
      await script;
      await waitFor('the upload', () => cloud.reported('fileUpload').length === 1);
    } finally {
      await files.close();
    }
    expect(cloud.reported('result').map(({ success, message }) => [success, message])).toEqual([
      ...[
        [true, 'activated'],
        [true, 'installed'],
        [true, 'paired'],
      ],
    ]);
    // The script makes the download slow and interrupts it.
    expect(cloud.reported('progress').length).toBeGreaterThan(0);
    expect(files.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'PUT']);
    expect(cloud.reported('appStatus')).toMatchObject([{ status: 'started', text: 'the new version' }]);
    expect(cloud.reported('bluetoothConnection')).toMatchObject([{ devices: [{ name: 'Speaker' }] }]);
    expect(cloud.reported('fileUpload')).toMatchObject([
      { file: `app-1/${deviceId}/upload_files/log/today.txt`, sizeBytes: 2048n, failure: 0 },
    ]);
  }, 30_000);
});

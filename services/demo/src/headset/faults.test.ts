import { ago } from '@headset-cloud/kit/testing/fakes.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { GoAwayReason, HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { sabotages } from '../../../../tests/conformance/can-fail.ts';
import { checkedBehaviour, type Fault, faultNames } from './behaviour.ts';
import type { Headset, HeadsetOptions } from './headset.ts';
import { Cloud, deviceId } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';

let cloud: Cloud;
let files: FileServer;
beforeEach(async () => {
  cloud = new Cloud();
  files = new FileServer(300_000);
  await Promise.all([cloud.start(), files.start()]);
  cloud.onUrl = () => ({ url: files.url('file') });
});
afterEach(async () => {
  await cloud.close();
  await files.close();
});

type More = Partial<HeadsetOptions>;
const broken = (fault: Fault, { behaviour, ...more }: More = {}) =>
  cloud.online({ ...more, behaviour: { downloadRetryMs: 1, ...behaviour, faults: [fault] } });
const languages = (...list: string[]) => ({ case: 'applyLanguages' as const, value: { languages: list } });
const app = { package: 'com.example.guide', version: '2.1' };
const update = () => ({ case: 'updateApp' as const, value: { ...app, artifact: files.artifact() } });
const activate = (applicationId: string) => ({ case: 'activate' as const, value: { applicationId } });
const start = (id: number) => cloud.send({ case: 'start', value: { transactionId: BigInt(id) } });
const drop = (id: number) => cloud.send({ case: 'drop', value: { transactionId: BigInt(id) } });
const revoke = (id: number) => cloud.send({ case: 'revoke', value: { transactionId: BigInt(id) } });
const ids = () => cloud.reports.map(({ reportId }) => Number(reportId));
const effects = (count: number) => waitFor('the effects', () => cloud.effects().length === count);
const settled = (made: Headset) =>
  waitFor('all to be acknowledged', () => made.journal.held.size === 0 && made.journal.reports.size === 0);
async function sessions(count: number): Promise<void> {
  await waitFor('the sessions', () => cloud.hellos.length === count);
}
/** Waits for a later report, so that all earlier messages have been answered. */
async function answered(made: Headset): Promise<void> {
  const count = cloud.reported('volume').length;
  made.report({ case: 'volume', value: { max: 16, current: count } });
  await waitFor('a later report', () => cloud.reported('volume').length > count);
}
async function offered(made: Headset): Promise<Headset> {
  cloud.starts = false;
  cloud.offer(1, languages('en'));
  await waitFor('ready', () => cloud.readies.length === 1);
  cloud.forget(1);
  return made;
}
/** An update that waits for a URL that never comes. */
async function waiting(made: Headset): Promise<Headset> {
  cloud.onUrl = () => undefined;
  cloud.offer(1, update());
  await waitFor('the request', () => cloud.urlRequests.length > 0);
  return made;
}
const ofB = { epoch: 3n, revision: 3n, applicationId: 'B', clientId: 'b', sinceEpoch: 3n };
/**
 * A headset of application A at activation epoch 2, with a Wi-Fi network, to which welcome then says
 * `current`.
 */
async function moved(fault: Fault, current: typeof ofB = ofB): Promise<Headset> {
  const made = await broken(fault);
  cloud.offer(1, activate('A'), 'activate', 2);
  cloud.offer(2, { case: 'applyWifi', value: { networks: [{ ssid: 'of A' }] } }, 'wifi', 2);
  await cloud.result(2);
  await settled(made);
  cloud.activation = current;
  made.disconnect();
  await waitFor('the next session', () => made.sessionEpoch === 2);
  await answered(made);
  return made;
}
const snapshots = () => cloud.reports.filter(({ snapshot }) => snapshot).length;

/** For each fault the test that shows it. */
const shows: { readonly [F in Fault]?: () => Promise<void> } = {
  'no-backoff': async () => {
    await broken('no-backoff', { backoff: { firstMs: 1e9, maxMs: 1e9 } });
    cloud.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING, retryAfterMs: 1_000_000_000 } });
    await sessions(2);
  },
  'ignores-retry-after': async () => {
    await broken('ignores-retry-after');
    cloud.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING, retryAfterMs: 1_000_000_000 } });
    await sessions(2);
  },
  'uncorrected-clock': async () => {
    const made = await broken('uncorrected-clock', { behaviour: { skewMs: -3_600_000 } });
    await answered(made);
    expect(Number(cloud.reports[0]?.occurredAtMs)).toBeLessThanOrEqual(ago(3_600_000));
  },
  'reports-before-welcome': async () => {
    cloud.welcomes = false;
    cloud.headset({ behaviour: { faults: ['reports-before-welcome'] } }).report({
      ...{ case: 'signal', value: { level: 1 } },
    });
    await waitFor('the report', () => cloud.reports.length === 1);
  },
  'hides-held': async () => {
    const made = await offered(await broken('hides-held'));
    made.disconnect();
    await sessions(2);
    expect(cloud.hellos[1]?.held).toEqual([]);
  },
  'tells-older-counter': async () => {
    const made = await broken('tells-older-counter');
    await answered(made);
    made.disconnect();
    await sessions(2);
    expect(cloud.hellos[1]?.lastReportId).toBe(0n);
  },
  'uses-old-stream': async () => {
    cloud.endsStreams = false;
    await offered(await broken('uses-old-stream'));
    const old = cloud.line();
    cloud.send({ case: 'goAway', value: { reason: GoAwayReason.DRAINING } });
    await sessions(2);
    old({ case: 'start', value: { transactionId: 1n } });
    await effects(1);
  },
  'starts-without-start': async () => {
    await offered(await broken('starts-without-start'));
    await effects(1);
  },
  'no-ready-on-repeat': async () => {
    const made = await offered(await broken('no-ready-on-repeat'));
    cloud.offer(1, languages('en'));
    await answered(made);
    expect(cloud.readies).toEqual([1]);
  },
  'forgets-ids': async () => {
    const made = await broken('forgets-ids');
    cloud.offer(1, languages('en'));
    await cloud.result(1);
    await settled(made);
    cloud.offer(1, languages('en'));
    await effects(2);
  },
  'resumes-by-itself': async () => {
    await (await waiting(await broken('resumes-by-itself'))).close();
    cloud.forget(1);
    cloud.onUrl = () => ({ url: files.url('file') });
    await broken('resumes-by-itself');
    await effects(1);
  },
  'start-needs-offer': async () => {
    await (await waiting(await broken('start-needs-offer'))).close();
    cloud.forget(1);
    const made = await broken('start-needs-offer');
    start(1);
    await answered(made);
    expect(cloud.urlRequests).toHaveLength(1);
  },
  'start-repeats-work': async () => {
    cloud.acknowledges = false;
    await broken('start-repeats-work');
    cloud.offer(1, languages('en'));
    await cloud.result(1);
    start(1);
    await effects(2);
  },
  'works-in-parallel': async () => {
    await waiting(await broken('works-in-parallel'));
    cloud.offer(2, languages('en'));
    await cloud.result(2);
  },
  'silent-when-done': async () => {
    const made = await broken('silent-when-done');
    cloud.offer(1, languages('en'));
    await cloud.result(1);
    await settled(made);
    start(1);
    revoke(1);
    await answered(made);
    expect(cloud.reported('result')).toHaveLength(1);
  },
  'ignores-drop': async () => {
    const made = await offered(await broken('ignores-drop'));
    drop(1);
    await answered(made);
    made.disconnect();
    await sessions(2);
    expect(cloud.hellos[1]?.held).toMatchObject([{ transactionId: 1n, state: HeldState.OFFERED }]);
  },
  'starts-dropped': async () => {
    await offered(await broken('starts-dropped'));
    drop(1);
    start(1);
    await effects(1);
  },
  'ignores-revoke': async () => {
    const made = await offered(await broken('ignores-revoke'));
    revoke(1);
    await answered(made);
    expect([cloud.hellos[0]?.knowsRevoke, cloud.reported('revoked')]).toEqual([true, []]);
  },
  'acts-after-revoke': async () => {
    await offered(await broken('acts-after-revoke'));
    revoke(1);
    await waitFor('the answer', () => cloud.reported('revoked').length === 1);
    expect(await cloud.result(1)).toMatchObject({ success: true });
    await effects(1);
  },
  'starts-revoked': async () => {
    const made = await offered(await broken('starts-revoked'));
    revoke(1);
    await settled(made);
    start(1);
    await cloud.result(1);
    await effects(1);
  },
  'silent-on-unknown-revoke': async () => {
    const made = await broken('silent-on-unknown-revoke');
    revoke(7);
    await answered(made);
    expect(cloud.reported('revoked')).toEqual([]);
  },
  'acts-on-old-epoch': async () => {
    await broken('acts-on-old-epoch');
    cloud.offer(1, languages('en'), 'one', 2);
    cloud.offer(2, languages('fr'), 'two', 1);
    expect(await cloud.result(2)).toMatchObject({ success: true });
  },
  'no-report-repeat': async () => {
    cloud.acknowledges = false;
    const made = await broken('no-report-repeat');
    await answered(made);
    made.disconnect();
    await sessions(2);
    await answered(made);
    expect(ids()).toEqual([1, 2]);
  },
  'new-report-ids-on-repeat': async () => {
    cloud.acknowledges = false;
    const made = await broken('new-report-ids-on-repeat');
    await answered(made);
    made.disconnect();
    await waitFor('the repetition', () => cloud.reports.length === 2);
    expect(ids()).toEqual([1, 2]);
  },
  'repeats-acknowledged': async () => {
    const made = await broken('repeats-acknowledged');
    await answered(made);
    await settled(made);
    made.disconnect();
    await waitFor('the repetition', () => cloud.reports.length === 2);
    expect(ids()).toEqual([1, 1]);
  },
  'reports-out-of-order': async () => {
    cloud.acknowledges = false;
    const made = await broken('reports-out-of-order');
    await answered(made);
    await answered(made);
    made.disconnect();
    await waitFor('the repetition', () => cloud.reports.length === 4);
    expect(ids()).toEqual([1, 2, 2, 1]);
  },
  'exceeds-window': async () => {
    cloud.acknowledges = false;
    const made = await broken('exceeds-window', { durability: 'none' });
    for (let level = 0; level < 300; level++) made.report({ case: 'signal', value: { level: level % 5 } });
    await waitFor('all of them', () => cloud.reports.length === 300);
  },
  'restarts-counter': async () => {
    const first = await broken('restarts-counter');
    await answered(first);
    await settled(first);
    await first.close();
    const second = await broken('restarts-counter');
    second.report({ case: 'signal', value: { level: 1 } });
    await waitFor('the report', () => cloud.reports.length === 2);
    expect(ids()).toEqual([1, 1]);
  },
  'rewrites-epoch': async () => {
    cloud.acknowledges = false;
    const made = await broken('rewrites-epoch');
    await answered(made);
    cloud.offer(1, activate('A'), 'activate', 4);
    await cloud.result(1);
    made.disconnect();
    const again = await waitFor('the repetition', () => cloud.reports.filter((r) => r.reportId === 1n)[1]);
    expect(again.activationEpoch).toBe(4n);
  },
  'tells-offered-epoch': async () => {
    const made = await broken('tells-offered-epoch');
    cloud.starts = false;
    cloud.offer(1, activate('A'), 'activate', 4);
    await waitFor('the offer', () => made.journal.activationEpoch === 4);
    await answered(made);
    expect(cloud.reports.at(-1)?.activationEpoch).toBe(4n);
  },
  'no-inventory': async () => {
    await broken('no-inventory');
    cloud.offer(1, languages('en'));
    await cloud.result(1);
    expect(cloud.reported('inventory')).toEqual([]);
  },
  'ignores-wrong-hash': async () => {
    files.oddities.push({ wrong: true });
    await broken('ignores-wrong-hash');
    cloud.offer(1, update());
    expect(await cloud.result(1)).toMatchObject({ success: true });
    expect(files.requests).toHaveLength(1);
  },
  'loads-again': async () => {
    files.oddities.push({ cutAfter: 100_000 });
    await broken('loads-again');
    cloud.offer(1, update());
    await cloud.result(1);
    expect(files.requests.map(({ range }) => range)).toEqual([undefined, undefined]);
  },
  'keeps-refused-address': async () => {
    files.oddities.push(...Array(6).fill({ status: 403 }));
    await broken('keeps-refused-address');
    cloud.offer(1, update());
    await cloud.result(1);
    expect([files.requests.length, cloud.urlRequests.length]).toEqual([7, 1]);
  },
  'authorizes-downloads': async () => {
    await broken('authorizes-downloads');
    cloud.offer(1, update());
    await cloud.result(1);
    expect(files.requests[0]?.authorization).toBeDefined();
  },
  'no-progress': async () => {
    const made = await broken('no-progress', { behaviour: { effectMs: 20, progressIntervalMs: 1 } });
    cloud.offer(1, update());
    await cloud.result(1);
    await settled(made);
    expect(cloud.reported('progress')).toEqual([]);
  },
  'progress-after-result': async () => {
    await broken('progress-after-result');
    cloud.offer(1, update());
    await waitFor('the progress', () => cloud.reports.at(-1)?.body.case === 'progress');
    expect(cloud.reports.at(-2)?.body.case).toBe('result');
  },
  'downgrades-firmware': async () => {
    const made = await broken('downgrades-firmware', { firmwareVersion: '9.010.0' });
    const value = { version: '9.002.0', artifact: files.artifact() };
    cloud.offer(1, { case: 'updateFirmware', value });
    expect(await cloud.result(1)).toMatchObject({ success: true });
    expect(made.device.state.firmwareVersion).toBe('9.002.0');
  },
  'ignores-welcome-activation': async () => {
    const made = await moved('ignores-welcome-activation');
    expect(made.journal.activation.applicationId).toBe('A');
  },
  'takes-old-activation': async () => {
    const made = await moved('takes-old-activation', { ...ofB, epoch: 1n, sinceEpoch: 1n });
    expect(made.journal.activation.applicationId).toBe('B');
  },
  'activation-not-erased': async () => {
    const made = await moved('activation-not-erased');
    expect(made.device.state.wifi).toEqual([{ ssid: 'of A' }]);
    expect(made.journal.activation.applicationId).toBe('B');
  },
  'no-snapshot': async () => {
    await moved('no-snapshot');
    expect(snapshots()).toBe(0);
  },
  'unmarked-snapshot': async () => {
    await moved('unmarked-snapshot');
    expect([snapshots(), cloud.reported('stateChange').length]).toEqual([0, 2]);
  },
  'no-upload-report': async () => {
    const made = await broken('no-upload-report');
    made.upload({ file: `A/${deviceId}/upload_files/a`, sizeBytes: 1 });
    await waitFor('the bytes', () => files.requests.length === 1);
    await answered(made);
    expect(cloud.reported('fileUpload')).toEqual([]);
  },
  'puts-again': async () => {
    files.oddities.push({ status: 403 });
    const made = await broken('puts-again');
    made.upload({ file: `A/${deviceId}/upload_files/a`, sizeBytes: 1 });
    await waitFor('the bytes again', () => files.requests.length === 2);
  },
};

describe('a headset that is told to break the rule', () => {
  it.each(faultNames.filter((fault) => shows[fault]))('%s does so', async (fault) => {
    await shows[fault]?.();
  });

  it('does so for every rule that has a name', () => {
    // The conformance kit detects the faults that are not shown here.
    const found = new Set(sabotages.flatMap(({ defect }) => defect.behaviour?.faults ?? []));
    expect(faultNames.filter((fault) => !shows[fault] && !found.has(fault))).toEqual([]);
  });

  it('refuses a name that there is not', () => {
    expect(() => checkedBehaviour({ faults: ['dances' as Fault] })).toThrow('no fault is named dances');
    expect(() => checkedBehaviour({ faults: 'forgets-ids' as never })).toThrow('faults must be');
  });
});

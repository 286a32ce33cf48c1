import { readdirSync } from 'node:fs';
import { type Report, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Headset } from './headset.ts';
import { Cloud, deviceId } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';
import { Writes } from './testing/writes.ts';

let cloud: Cloud;
beforeEach(async () => {
  cloud = new Cloud();
  await cloud.start();
});
afterEach(() => cloud.close());

const app = { package: 'com.example.guide', version: '2.0' };
const activation = (applicationId: string, epoch: number, sinceEpoch = epoch) => ({
  ...{ epoch: BigInt(epoch), revision: BigInt(epoch), applicationId },
  ...{ clientId: `client-of-${applicationId}`, clientSecret: 'secret', sinceEpoch: BigInt(sinceEpoch) },
});
const none = (epoch: number) => ({ epoch: BigInt(epoch), revision: BigInt(epoch) });
const activate = (applicationId: string) =>
  ({ case: 'activate', value: { applicationId, clientId: `client-of-${applicationId}` } }) as const;
const wifi = {
  case: 'applyWifi' as const,
  value: { networks: [{ ssid: 'office', password: 'pass' }] },
};
const snapshots = (at = cloud) => distinct(at.reports).filter(({ snapshot }) => snapshot);
function distinct(reports: readonly Report[]): Report[] {
  return [...new Map(reports.map((report) => [report.reportId, report])).values()];
}
const kinds = (reports: readonly Report[]) =>
  reports.map(({ body, activationEpoch }) => [body.case, Number(activationEpoch)]);
const settled = (made: Headset) =>
  waitFor('all to be acknowledged', () => made.journal.held.size === 0 && made.journal.reports.size === 0);
async function again(made: Headset): Promise<void> {
  const next = cloud.hellos.length + 1;
  made.disconnect();
  await waitFor('the next session', () => made.sessionEpoch === next);
  await settled(made);
}
/** A headset of application A since activation epoch 1, with its own settings and state. */
async function ofA(): Promise<Headset> {
  const made = await cloud.online({ content: { apps: [app] } });
  cloud.offer(1, activate('A'), 'activate', 1);
  cloud.offer(2, wifi, 'wifi', 1);
  made.report({ case: 'stateChange', value: { batteryPercentage: 70, power: 'started' } });
  made.report({ case: 'stateChange', value: { batteryPercentage: 69 } });
  await cloud.result(2);
  await settled(made);
  return made;
}

describe('an activation by a transaction', () => {
  it('sets the epoch of reports only after it has taken effect, also over a restart', async () => {
    let made = await ofA();
    cloud.starts = false;
    cloud.offer(3, activate('B'), 'activate', 3);
    await waitFor('the offer', () => made.journal.activationEpoch === 3);
    const file = `A/${deviceId}/upload_files/log.txt`;
    made.upload({ file, sizeBytes: 5 });
    await waitFor('the request', () => cloud.urlRequests.length > 0);
    expect(cloud.urlRequests[0]?.about.value).toMatchObject({ file, activationEpoch: 1n });
    const { length } = cloud.reports;
    const speak = (startedAtMs: bigint) =>
      made.report({ case: 'speechUsage', value: { startedAtMs, durationMs: 1000n } });
    speak(1n);
    await waitFor('its acknowledgement', () => made.journal.reports.size === 0);
    await made.close();
    made = await cloud.online();
    expect(cloud.hellos.at(-1)).toMatchObject({ activationEpoch: 3n });
    speak(2n);
    cloud.send({ case: 'start', value: { transactionId: 3n } });
    await cloud.result(3);
    speak(3n);
    await waitFor('the last report', () => cloud.reported('speechUsage').length === 3);
    expect(kinds(distinct(cloud.reports.slice(length)))).toEqual([
      ...[1, 1].map((epoch) => ['speechUsage', epoch]),
      ['fileUpload', 1],
      ['stateChange', 3],
      ['inventory', 3],
      ['result', 3],
      ['speechUsage', 3],
    ]);
  });

  it('is taken from the welcome even if an earlier offer had its epoch', async () => {
    const made = await ofA();
    cloud.starts = false;
    cloud.offer(3, { case: 'reset', value: {} }, 'reset', 2);
    await waitFor('the offer', () => made.journal.activationEpoch === 2);
    cloud.forget(3);
    expect(made.journal.takenEpoch).toBe(1);
    cloud.activation = { ...activation('A', 2, 1), clientSecret: '' };
    made.disconnect();
    await waitFor('the activation', () => made.journal.takenEpoch === 2);
    expect(snapshots()).toHaveLength(2);
  });

  it('gets one snapshot, before its result', async () => {
    const made = await ofA();
    expect(made.journal.activation).toMatchObject({ applicationId: 'A', sinceEpoch: 1 });
    expect(kinds(snapshots())).toEqual([
      ['stateChange', 1],
      ['inventory', 1],
    ]);
    expect(snapshots()[1]?.body.value).toMatchObject({ firmwareVersion: '9.001.0', apps: [app] });
    const [first, second, third] = cloud.reports.slice(cloud.reports.findIndex((r) => r.snapshot));
    expect([first, second, third].map((report) => report?.body.case)).toEqual([
      ...['stateChange', 'inventory', 'result'],
    ]);
  });

  it('of the same application changes only the client', async () => {
    const made = await ofA();
    cloud.offer(3, { case: 'activate', value: { applicationId: 'A', clientId: 'new' } }, 'activate', 2);
    await cloud.result(3);
    expect(made.journal.activation).toMatchObject({ clientId: 'new', sinceEpoch: 1 });
    expect(snapshots()).toHaveLength(2);
    expect(made.device.state.wifi).toHaveLength(1);
  });

  it('of another application erases the data of the former application', async () => {
    const made = await ofA();
    cloud.offer(3, activate('B'), 'activate', 3);
    await cloud.result(3);
    expect(made.device.state).toMatchObject({ wifi: [], apps: [app] });
    expect(kinds(snapshots()).slice(2)).toEqual([
      ['stateChange', 3],
      ['inventory', 3],
    ]);
    expect(snapshots()[2]?.body.value).toMatchObject({ power: 'started', batteryPercentage: 69 });
  });

  it('that ends erases the data of the application, and gets no snapshot', async () => {
    const made = await ofA();
    cloud.offer(3, { case: 'deactivate', value: { applicationId: 'A' } }, 'deactivate', 2);
    await cloud.result(3);
    expect(made.device.state.wifi).toEqual([]);
    expect(made.journal.activation).toMatchObject({ applicationId: '', clientId: '' });
    expect(snapshots()).toHaveLength(2);
  });
});

it.each([
  ['another application', activate('B')],
  ['no application', { case: 'deactivate', value: { applicationId: 'A' } } as const],
])(
  'the erasure for %s reports no disconnections, because their names belong to the former application',
  async (_, kind) => {
    const glove = { name: 'Glove of A', alias: 'g', address: '02:00:00:00:00:0C' };
    const content = { bluetoothDevices: [{ ...glove, paired: true, connected: true }] };
    const made = await cloud.online({ content });
    cloud.offer(1, activate('A'), 'activate', 1);
    await cloud.result(1);
    cloud.offer(2, kind, 'next', 2);
    await cloud.result(2);
    await settled(made);
    expect(made.device.state.bluetoothDevices).toEqual([{ ...glove, paired: false, connected: false }]);
    expect(cloud.reported('bluetoothConnection')).toEqual([]);
  },
);

describe('an activation in welcome', () => {
  it('of no application reports the languages that the erasure has changed in an inventory without snapshot mark', async () => {
    const made = await ofA();
    cloud.offer(3, { case: 'applyLanguages', value: { languages: ['eo'] } }, 'languages', 1);
    await cloud.result(3);
    await settled(made);
    const before = snapshots().length;
    cloud.activation = none(5);
    await again(made);
    const last = cloud.reports.at(-1);
    expect(last).toMatchObject({ activationEpoch: 5n, snapshot: false, body: { case: 'inventory' } });
    expect(last?.body.value).toMatchObject({ languages: ['ja'] });
    expect(snapshots()).toHaveLength(before);
    await again(made);
    expect(cloud.reports.at(-1)).toBe(last);
  });

  it('of another application erases data, fails uploads and reports one snapshot, before all other reports', async () => {
    const made = await ofA();
    cloud.acknowledges = false;
    cloud.onUrl = () => undefined;
    const file = `A/${deviceId}/upload_files/log.txt`;
    made.upload({ file, sizeBytes: 5 });
    const kept = made.report({ case: 'customData', value: { success: true, customData: 'of A' } });
    cloud.activation = activation('B', 3);
    made.disconnect();
    await waitFor('the next session', () => made.sessionEpoch === 2);
    const last = made.report({ case: 'signal', value: { level: 1 } });
    await waitFor('the last report', () => cloud.reports.at(-1)?.reportId === BigInt(last));
    const reported = distinct(cloud.reports).filter(({ reportId }) => reportId >= BigInt(kept));
    expect(kinds(reported)).toEqual([
      ['customData', 1],
      ['fileUpload', 1],
      ['stateChange', 3],
      ['inventory', 3],
      ['signal', 3],
    ]);
    expect(reported[1]?.body.value).toMatchObject({ file, failure: UrlRefusal.UPLOAD_FAILED });
    expect(reported.map(({ snapshot }) => snapshot)).toEqual([false, false, true, true, false]);
    expect(made.device.state.wifi).toEqual([]);
    expect(made.journal.activation).toEqual({
      ...{ applicationId: 'B', clientId: 'client-of-B', clientSecret: 'secret', sinceEpoch: 3 },
    });
    expect(made.journal.uploads.size).toBe(0);
    // The activation is known now: the next session and the transaction of the change have no effect.
    cloud.acknowledges = true;
    await again(made);
    cloud.offer(3, activate('B'), 'activate', 3);
    expect(await cloud.result(3)).toMatchObject({ success: true });
    expect(snapshots()).toHaveLength(4);
  });

  it('of no application erases data, and the transaction of that deactivation succeeds without an effect', async () => {
    const made = await ofA();
    cloud.activation = none(2);
    await again(made);
    expect(made.device.state.wifi).toEqual([]);
    expect(made.journal).toMatchObject({ activationEpoch: 2, activation: { applicationId: '' } });
    cloud.offer(3, { case: 'deactivate', value: { applicationId: 'A' } }, 'deactivate', 2);
    expect(await cloud.result(3)).toMatchObject({ success: true });
    expect(snapshots()).toHaveLength(2);
    // Unfinished operations of A fail.
    cloud.offer(4, wifi, 'wifi', 1);
    expect(await cloud.result(4)).toMatchObject({ success: false });
  });

  it('of the same application after an interruption reports a snapshot again, and erases nothing', async () => {
    const made = await ofA();
    cloud.activation = activation('A', 5, 4);
    await again(made);
    expect(made.device.state.wifi).toHaveLength(1);
    expect(kinds(snapshots()).slice(2)).toEqual([
      ['stateChange', 5],
      ['inventory', 5],
    ]);
  });

  it('that is known, older or absent changes nothing', async () => {
    const made = await ofA();
    for (const current of [activation('A', 1), undefined]) {
      cloud.activation = current;
      await again(made);
    }
    cloud.offer(3, activate('B'), 'activate', 3);
    await cloud.result(3);
    cloud.activation = activation('A', 1);
    await again(made);
    expect(made.journal).toMatchObject({ activationEpoch: 3, activation: { applicationId: 'B' } });
    expect(snapshots()).toHaveLength(4);
  });

  it('fails an update of the former application that is loading, and deletes its bytes', async () => {
    const files = new FileServer(300_000);
    await files.start();
    try {
      const made = await ofA();
      made.behaviour.downloadBytesPerSecond = 1000;
      cloud.onUrl = () => ({ url: files.url('file') });
      const value = { ...app, version: '9', artifact: files.artifact() };
      cloud.offer(3, { case: 'updateApp', value }, 'update', 1);
      cloud.offer(4, wifi, 'wifi', 1);
      const parts = () => readdirSync(cloud.stateDir).filter((name) => name.endsWith('.part'));
      await waitFor('some bytes', () => parts().length === 1);
      cloud.activation = activation('B', 3);
      made.disconnect();
      const message = 'The transaction belongs to an earlier activation.';
      expect(await cloud.result(3)).toMatchObject({ success: false, message });
      expect(await cloud.result(4)).toMatchObject({ success: false, message });
      await waitFor('no part', () => parts().length === 0);
      expect(made.device.state).toMatchObject({ apps: [app], wifi: [] });
    } finally {
      await files.close();
    }
  });

  it('fails a started transaction of the former application', async () => {
    const made = await ofA();
    cloud.onUrl = () => undefined;
    const artifact = { sizeBytes: 1n, sha256: new Uint8Array(32), ticket: new Uint8Array(1) };
    cloud.offer(3, { case: 'updateApp', value: { ...app, version: '9', artifact } }, 'update', 1);
    await waitFor('the request for a URL', () => cloud.urlRequests.length === 1);
    cloud.forget(3);
    await made.close();
    cloud.activation = activation('B', 3);
    await cloud.online();
    cloud.send({ case: 'start', value: { transactionId: 3n } });
    expect(await cloud.result(3)).toMatchObject({
      ...{ success: false, message: 'The transaction belongs to an earlier activation.' },
    });
  });
});

describe.each<[string, boolean]>([
  ['welcome', false],
  ['a transaction', true],
])(
  'a headset that dies after any of its writes while it applies another activation from %s',
  (_, byTransaction) => {
    it('finally has erased data, taken the new activation, and reported one snapshot', async () => {
      const writes = new Writes();
      writes.record();
      let begun = 0;
      try {
        const made = await ofA();
        begun = writes.count;
        if (byTransaction) {
          cloud.offer(3, activate('B'), 'activate', 3);
          await cloud.result(3);
        } else {
          cloud.activation = activation('B', 3);
          await again(made);
        }
        await settled(made);
        await made.close();
      } finally {
        writes.stop();
      }
      expect(writes.count - begun).toBeGreaterThanOrEqual(3);
      for (let count = begun; count <= writes.count; count++) {
        const after = new Cloud();
        await after.start();
        try {
          writes.restore(after.stateDir, count);
          after.activation = activation('B', 3);
          const survivor = after.headset();
          const { reports, activation: stored } = survivor.journal;
          // The reports that the earlier cloud has not acknowledged, or all of them.
          const due =
            stored.applicationId === 'B'
              ? [...reports.values()].flatMap(({ snapshot, body }) => (snapshot ? [body.case] : []))
              : ['stateChange', 'inventory'];
          await waitFor('the session', () => survivor.sessionEpoch > 0);
          await waitFor('all to be acknowledged', () => reports.size === 0);
          expect([count, survivor.device.state.wifi]).toEqual([count, []]);
          expect(survivor.journal.activation).toMatchObject({ applicationId: 'B', sinceEpoch: 3 });
          expect([count, snapshots(after).map(({ body }) => body.case)]).toEqual([count, due]);
          expect(snapshots(after).every(({ activationEpoch }) => activationEpoch === 3n)).toBe(true);
        } finally {
          await after.close();
        }
      }
    }, 60_000);
  },
);

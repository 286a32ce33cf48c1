import { readdirSync } from 'node:fs';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Headset } from './headset.ts';
import { Cloud } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';
import { Writes } from './testing/writes.ts';

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

const languages = (...list: string[]) => ({ case: 'applyLanguages', value: { languages: list } }) as const;
const app = { package: 'com.example.guide', version: '2.1' };
const update = () => ({ case: 'updateApp', value: { ...app, artifact: files.artifact() } }) as const;
const revoke = (id: number, at = cloud) =>
  at.send({ case: 'revoke', value: { transactionId: BigInt(id), reason: 'another one came' } });
const start = (id: number) => cloud.send({ case: 'start', value: { transactionId: BigInt(id) } });
const revoked = (at = cloud) => at.reported('revoked').map(({ transactionId }) => Number(transactionId));
const parts = () => readdirSync(cloud.stateDir).filter((name) => name.endsWith('.part'));
const settled = (made: Headset) =>
  waitFor('all to be acknowledged', () => made.journal.held.size === 0 && made.journal.reports.size === 0);
/** Waits for a later report, so that all earlier messages have been answered. */
async function answered(made: Headset): Promise<void> {
  const id = made.report({ case: 'volume', value: { max: 16, current: 3 } });
  await waitFor('a later report', () => cloud.reports.some(({ reportId }) => reportId === BigInt(id)));
}
/** A transaction that is queued behind an update. The update gets its URL when `resumeFirst` is called. */
async function oneBehindAnother(): Promise<{ made: Headset; resumeFirst: () => void }> {
  const url = files.url('file');
  cloud.onUrl = () => undefined;
  const made = await cloud.online();
  cloud.offer(1, update());
  cloud.offer(2, languages('fr'));
  await waitFor('both starts', () => made.journal.held.get(2)?.state === 'started');
  const { requestId } = await waitFor('the request for a URL', () => cloud.urlRequests[0]);
  return { made, resumeFirst: () => cloud.send({ case: 'urlAnswer', value: { requestId, url } }) };
}
/** A headset with an update that loads very slowly. */
async function loading(): Promise<Headset> {
  const made = await cloud.online({ behaviour: { downloadBytesPerSecond: 1000 } });
  cloud.offer(1, update());
  await waitFor('some bytes', () => parts().length === 1);
  return made;
}

describe('a revoke', () => {
  it('of an offered transaction is answered, and a later start gets the same answer', async () => {
    cloud.starts = false;
    const made = await cloud.online();
    cloud.offer(1, languages('en'));
    await waitFor('ready', () => cloud.readies.length === 1);
    revoke(1);
    await settled(made);
    start(1);
    await waitFor('the second answer', () => cloud.reports.length === 2);
    const [first, second] = cloud.reports;
    expect([revoked(), second?.reportId]).toEqual([[1, 1], (first?.reportId ?? 0n) + 1n]);
    expect(cloud.effects()).toEqual([]);
    // Another offer is answered by ready, like every offer, but the transaction is never performed.
    cloud.starts = true;
    cloud.offer(1, languages('en'));
    await waitFor('the third answer', () => cloud.reports.length === 3);
    expect([cloud.readies, revoked(), cloud.effects()]).toEqual([[1, 1], [1, 1, 1], []]);
  });

  it('of a queued transaction prevents it; the running transaction continues', async () => {
    const { made, resumeFirst } = await oneBehindAnother();
    revoke(2);
    await waitFor('the answer', () => revoked().length === 1);
    resumeFirst();
    await cloud.result(1);
    await settled(made);
    cloud.offer(3, languages('en'));
    await cloud.result(3);
    expect(revoked()).toEqual([2]);
    expect(cloud.effects().map(({ transactionId }) => transactionId)).toEqual([1, 3]);
  });

  it('of a transaction whose effect has begun is answered by its result', async () => {
    const atPoint = (point: string) => point === 'started' && revoke(1);
    const made = await cloud.online({ atPoint, behaviour: { effectMs: 50 } });
    cloud.offer(1, languages('en'));
    expect(await cloud.result(1)).toMatchObject({ success: true });
    await settled(made);
    expect(revoked()).toEqual([]);
  });

  it('of a loading update stops the download and deletes its bytes', async () => {
    const made = await loading();
    revoke(1);
    await settled(made);
    await waitFor('no part', () => parts().length === 0);
    cloud.offer(2, languages('en'));
    await cloud.result(2);
    expect(revoked()).toEqual([1]);
    expect([made.device.state.apps, parts()]).toEqual([[], []]);
    expect(cloud.reported('result')).toHaveLength(1);
  });

  it('of an update that is being installed is answered by its result', async () => {
    const atPoint = (point: string) => point === 'installing' && revoke(1);
    const made = await cloud.online({ atPoint, behaviour: { effectMs: 50 } });
    cloud.offer(1, update());
    expect(await cloud.result(1)).toMatchObject({ success: true, message: 'installed' });
    await settled(made);
    expect(revoked()).toEqual([]);
  });

  it('of a transaction that a restart has interrupted prevents it from continuing', async () => {
    const first = await loading();
    await first.close();
    cloud.forget(1);
    const second = await cloud.online();
    expect(cloud.hellos[1]).toMatchObject({ held: [{ transactionId: 1n, state: HeldState.STARTED }] });
    revoke(1);
    await settled(second);
    start(1);
    await waitFor('the second answer', () => cloud.reported('revoked').length === 2);
    expect([second.device.state.apps, parts(), cloud.effects()]).toEqual([[], [], []]);
  });

  it('of a finished transaction changes nothing; of a remembered transaction it is answered by the same end', async () => {
    cloud.acknowledges = false;
    const made = await cloud.online();
    cloud.offer(1, languages('en'));
    await cloud.result(1);
    revoke(1);
    await answered(made);
    expect(cloud.reports.map(({ body }) => body.case)).toEqual(['inventory', 'result', 'volume']);
    cloud.acknowledges = true;
    cloud.forget(1);
    made.disconnect();
    await settled(made);
    revoke(1);
    await waitFor('the result again', () => cloud.reported('result').length === 2);
    expect(cloud.reports.at(-1)?.reportId).toBe((cloud.reports[0]?.reportId ?? 0n) + 3n);
    expect(revoked()).toEqual([]);
  });

  it('of an unknown transaction is answered, held as finished until acknowledged, and remembered', async () => {
    cloud.acknowledges = false;
    const made = await cloud.online();
    revoke(9);
    await waitFor('the answer', () => revoked().length === 1);
    made.disconnect();
    await waitFor('the next session', () => cloud.hellos.length === 2);
    expect(cloud.hellos[1]?.held).toMatchObject([{ transactionId: 9n, state: HeldState.FINISHED }]);
    cloud.acknowledges = true;
    made.disconnect();
    await settled(made);
    cloud.offer(9, languages('en'));
    await waitFor('the answer again', () => revoked().length === 2);
    expect(cloud.effects()).toEqual([]);
  });

  it('is announced in hello', async () => {
    await cloud.online();
    expect(cloud.hellos[0]?.knowsRevoke).toBe(true);
  });
});

describe('a drop', () => {
  const drop = (id: number) => cloud.send({ case: 'drop', value: { transactionId: BigInt(id), reason: '' } });

  it('of a started and queued transaction prevents it, without a report', async () => {
    const { made, resumeFirst } = await oneBehindAnother();
    drop(2);
    await waitFor('the deletion of the transaction', () => !made.journal.held.has(2));
    resumeFirst();
    await cloud.result(1);
    await settled(made);
    expect(cloud.reports.map(({ body }) => body.case)).toEqual(['inventory', 'result']);
    expect(cloud.effects()).toHaveLength(1);
  });

  it('of a loading update stops the download; after another offer the update is loaded and installed', async () => {
    const made = await loading();
    drop(1);
    await waitFor('no part', () => parts().length === 0);
    expect(made.journal.held.size).toBe(0);
    made.behaviour.downloadBytesPerSecond = 0;
    cloud.offer(1, update());
    expect(await cloud.result(1)).toMatchObject({ success: true });
    expect(cloud.effects()).toHaveLength(1);
  });
});

describe('a start of a transaction that the headset holds as started', () => {
  it('continues the transaction in a new session without an offer', async () => {
    const first = await loading();
    await first.close();
    cloud.forget(1);
    await cloud.online();
    start(1);
    expect(await cloud.result(1)).toMatchObject({ success: true });
    expect(cloud.readies).toEqual([1]);
    expect(cloud.effects()).toHaveLength(1);
  });
});

describe('a headset that dies after any of its writes during a revoke', () => {
  it('never installs the update, and finally answers', async () => {
    const writes = new Writes();
    writes.record();
    try {
      const made = await loading();
      revoke(1);
      await settled(made);
      await made.close();
    } finally {
      writes.stop();
    }
    expect(writes.count).toBeGreaterThanOrEqual(5);
    for (let count = 0; count <= writes.count; count++) {
      const after = new Cloud();
      await after.start();
      try {
        writes.restore(after.stateDir, count);
        after.onUrl = cloud.onUrl;
        // Like the platform: revoke a started transaction, drop any other transaction.
        after.onHello = ({ held }) => {
          for (const { transactionId, state } of held) {
            if (state === HeldState.STARTED) revoke(Number(transactionId), after);
            if (state === HeldState.OFFERED) after.send({ case: 'drop', value: { transactionId } });
          }
        };
        const survivor = await after.online();
        await settled(survivor);
        const wasAsked = after.hellos[0]?.held.some(({ state }) => state !== HeldState.OFFERED);
        expect([count, revoked(after)]).toEqual([count, wasAsked ? [1] : []]);
        expect([count, after.effects(), survivor.device.state.apps]).toEqual([count, [], []]);
      } finally {
        await after.close();
      }
    }
  }, 60_000);
});

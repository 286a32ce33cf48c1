import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Behaviour } from './behaviour.ts';
import { Cloud, deviceId } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';

const sizeBytes = 300_000;
let cloud: Cloud;
let files: FileServer;
beforeEach(async () => {
  cloud = new Cloud();
  files = new FileServer(sizeBytes);
  await Promise.all([cloud.start(), files.start()]);
  cloud.onUrl = () => ({ url: files.url(`app-${cloud.urlRequests.length}`) });
});
afterEach(async () => {
  await cloud.close();
  await files.close();
});

const quick: Partial<Behaviour> = { downloadRetryMs: 1 };
const app = { package: 'com.example.guide', version: '2.1' };
const update = (artifact: object = files.artifact()) =>
  cloud.offer(1, { case: 'updateApp', value: { ...app, artifact } });
const installed = { transactionId: 1n, success: true, message: 'installed' };
const gets = () => files.requests.map(({ url, range }) => [url, range]);
/** The first byte of each request. */
const starts = () => files.requests.map(({ range }) => Number(/\d+/.exec(range ?? '0')?.[0]));
const parts = () => readdirSync(cloud.stateDir).filter((name) => name.endsWith('.part'));

describe('an update', () => {
  it('of an app is loaded with its ticket, installed once, and reported in the inventory and then as result', async () => {
    const made = await cloud.online({ apps: [{ ...app, version: '2.0' }], behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(cloud.urlRequests).toMatchObject([
      { about: { case: 'downloadTicket', value: files.artifact().ticket } },
    ]);
    expect(gets()).toEqual([['/app-1', undefined]]);
    expect(made.device.state.apps).toEqual([app]);
    expect(cloud.reports.map(({ body }) => body.case)).toEqual(['inventory', 'result']);
    expect(cloud.reported('inventory')).toMatchObject([
      { firmwareVersion: '9.001.0', apps: [app], languages: ['ja'] },
    ]);
    expect(cloud.effects()).toEqual([{ transactionId: 1, operation: 'updateApp' }]);
    expect(parts()).toEqual([]);
  });

  it('of the firmware changes the next hello', async () => {
    const first = await cloud.online({ behaviour: quick });
    cloud.offer(1, { case: 'updateFirmware', value: { version: '9.002.0', artifact: files.artifact() } });
    expect(await cloud.result(1)).toMatchObject(installed);
    await first.close();
    await cloud.online();
    expect(cloud.hellos.map((hello) => hello.firmwareVersion)).toEqual(['9.001.0', '9.002.0']);
  });

  it('of the firmware to an older version fails without a download, also after a queued newer one', async () => {
    const made = await cloud.online({ behaviour: quick });
    const firmware = (id: number, version: string) =>
      cloud.offer(id, { case: 'updateFirmware', value: { version, artifact: files.artifact() } });
    firmware(1, '9.010.0');
    firmware(2, '9.002.0');
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(await cloud.result(2)).toMatchObject({
      ...{ success: false, message: 'A newer firmware is installed.' },
    });
    expect(made.device.state.firmwareVersion).toBe('9.010.0');
    expect([files.requests.length, cloud.effects().length]).toEqual([1, 1]);
    // An equal version is no downgrade.
    firmware(3, '9.10');
    expect(await cloud.result(3)).toMatchObject({ success: true });
  });

  it('follows a redirect with its range, and treats more than five redirects as a refused URL', async () => {
    files.faults.push({ cutAfter: 100_000 }, { status: 307, location: '/elsewhere' });
    files.faults.push(...Array(1).fill({ cutAfter: 50_000 }));
    for (let i = 0; i < 6; i++) files.faults.push({ status: 302, location: `/hop-${i}` });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    const urls = gets().map(([url]) => url);
    expect(urls.slice(0, 4)).toEqual(['/app-1', '/app-1', '/elsewhere', '/app-1']);
    expect(urls.at(-1)).toBe('/app-2');
    const [, second, third] = starts();
    expect(second).toBeGreaterThan(0);
    expect(third).toBe(second);
  });

  it('continues where an interrupted download ended', async () => {
    files.faults.push({ cutAfter: 100_000 }, { status: 503 }, { cutAfter: 50_000 });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    // Slightly fewer bytes may have arrived than were sent before the interruption.
    const [first, second, third, fourth] = starts() as [number, number, number, number];
    expect([first, files.requests.length]).toEqual([0, 4]);
    expect(0 < second && second <= 100_000 && second === third).toBe(true);
    expect(third < fourth && fourth <= third + 50_000).toBe(true);
    expect(cloud.urlRequests).toHaveLength(1);
  });

  it('continues after an interruption by cutDownloadAtBytes', async () => {
    await cloud.online({ behaviour: { ...quick, cutDownloadAtBytes: 1000 } });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(gets()[0]).toEqual(['/app-1', undefined]);
    expect(gets()[1]?.[1]).toMatch(/^bytes=[1-9]\d*-$/);
  });

  it('restarts the download if the server ignores the range', async () => {
    files.faults.push({ cutAfter: 100_000 }, { whole: true });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(files.requests).toHaveLength(2);
  });

  it('resumes with a range after a restart, when the transaction is started again', async () => {
    const first = await cloud.online({ behaviour: { ...quick, downloadBytesPerSecond: 100_000 } });
    update();
    const part = join(cloud.stateDir, `${deviceId}.update-1.part`);
    await waitFor('some bytes', () => parts().length === 1 && statSync(part).size > 0);
    await first.close();
    const loaded = statSync(part).size;
    expect(loaded).toBeLessThan(sizeBytes);
    const second = await cloud.online({ behaviour: quick });
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(gets()).toEqual([
      ['/app-1', undefined],
      ['/app-2', `bytes=${loaded}-`],
    ]);
    expect(second.device.state.apps).toEqual([app]);
    expect(cloud.effects()).toEqual([{ transactionId: 1, operation: 'updateApp' }]);
  });

  it('continues over the loss of the session, and requests a URL again in the next session', async () => {
    let asked = 0;
    cloud.onUrl = () => {
      asked += 1;
      return asked === 1 ? undefined : { url: files.url('app') };
    };
    const made = await cloud.online({ behaviour: quick });
    update();
    await waitFor('the request', () => asked === 1);
    made.disconnect();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(cloud.effects()).toHaveLength(1);
  });

  it.each([401, 403, 410])('requests a new URL if the old one answers %i', async (status) => {
    files.faults.push({ cutAfter: 100_000 }, { status });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(gets().map(([url]) => url)).toEqual(['/app-1', '/app-1', '/app-2']);
    const [, second, third] = starts();
    expect(second).toBeGreaterThan(0);
    expect(third).toBe(second);
  });

  it('requests a URL with the ticket of the newest offer', async () => {
    const first = await cloud.online({ behaviour: quick });
    cloud.onUrl = () => undefined;
    update(files.artifact('old'));
    await waitFor('the request', () => cloud.urlRequests.length === 1);
    update(files.artifact('new'));
    await waitFor('ready again', () => cloud.readies.length === 2);
    await first.close();
    cloud.forget(1);
    cloud.onUrl = () => ({ url: files.url('app') });
    cloud.onHello = () => cloud.send({ case: 'start', value: { transactionId: 1n } });
    await cloud.online({ behaviour: quick });
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(cloud.urlRequests.at(-1)?.about.value).toEqual(files.artifact('new').ticket);
  });

  it('requests a new URL if the old one has expired', async () => {
    files.faults.push({ cutAfter: 100_000 });
    cloud.onUrl = () => ({
      url: files.url(`app-${cloud.urlRequests.length}`),
      expiresAtMs: cloud.urlRequests.length === 1 ? BigInt(Date.now()) : 0n,
    });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(gets().map(([url]) => url)).toEqual(['/app-1', '/app-2']);
  });

  it('fails after five refused URLs in a row', async () => {
    files.faults.push(...Array(10).fill({ status: 403 }));
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: false, message: "The update's addresses do not serve it." },
    });
    expect(gets().map(([url]) => url)).toEqual(['/app-1', '/app-2', '/app-3', '/app-4', '/app-5']);
    expect(cloud.effects()).toEqual([]);
  });

  it('fails if no byte arrives for downloadPatienceMs, including the wait for answers', async () => {
    files.faults.push({ status: 503, afterMs: 300 }, ...Array(20).fill({ status: 503 }));
    await cloud.online({ behaviour: { downloadRetryMs: 1, downloadPatienceMs: 250 } });
    update();
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: false, message: 'The update could not be loaded.' },
    });
    expect(files.requests).toHaveLength(1);
  });

  it('restarts the time limit after each byte, and does not count time without a URL', async () => {
    cloud.onUrl = () =>
      cloud.urlRequests.length === 1
        ? { refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: 1200 }
        : { url: files.url('app') };
    files.faults.push({ status: 503, afterMs: 600 }, { cutAfter: 1000 }, { status: 503, afterMs: 600 });
    await cloud.online({ behaviour: { downloadRetryMs: 1, downloadPatienceMs: 1100 } });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(files.requests).toHaveLength(4);
  });

  it.each([undefined, { sizeBytes: 0n }])('fails if it names no file or an empty file', async (artifact) => {
    await cloud.online({ behaviour: quick });
    cloud.offer(1, { case: 'updateApp', value: { ...app, ...(artifact && { artifact }) } });
    expect(await cloud.result(1)).toMatchObject({ success: false, message: 'The update names no file.' });
    expect(cloud.urlRequests).toEqual([]);
  });

  it('fails if its URLs are invalid', async () => {
    cloud.onUrl = () => ({ url: 'nowhere' });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: false, message: "The update's addresses do not serve it." },
    });
  });

  it('requests a URL with the newest ticket if an earlier ticket is refused', async () => {
    cloud.onUrl = ({ about }) => {
      const newest = cloud.urlRequests.length > 1 || about.case !== 'downloadTicket';
      if (newest) return { url: files.url('app') };
      update(files.artifact('new'));
      return undefined;
    };
    await cloud.online({ behaviour: quick });
    update();
    await waitFor('both offers', () => cloud.readies.length === 2);
    const [{ requestId } = { requestId: 0n }] = cloud.urlRequests;
    cloud.send({ case: 'urlAnswer', value: { requestId, refusal: UrlRefusal.NOT_FOUND } });
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(cloud.urlRequests.at(-1)?.about.value).toEqual(files.artifact('new').ticket);
  });

  it('fails if its ticket is refused', async () => {
    cloud.onUrl = () => ({ refusal: UrlRefusal.NOT_FOUND });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: false, message: "The update's address was refused: URL_REFUSAL_NOT_FOUND." },
    });
  });

  it('repeats the request after retryAfterMs while a part of the platform is unavailable', async () => {
    cloud.onUrl = () =>
      cloud.urlRequests.length < 3
        ? { refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: 5 }
        : { url: files.url('app') };
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(new Set(cloud.urlRequests.map(({ requestId }) => requestId)).size).toBe(3);
  });

  it('discards wrong bytes and restarts the download', async () => {
    files.faults.push({ wrong: true });
    await cloud.online({ behaviour: quick });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(gets()).toEqual([
      ['/app-1', undefined],
      ['/app-1', undefined],
    ]);
  });

  it.each([
    ['bytes', () => files.faults.push({ wrong: true }, { wrong: true }, { wrong: true }), {}],
    ['size', () => {}, { sizeBytes: BigInt(sizeBytes - 1) }],
    ['size', () => {}, { sizeBytes: BigInt(sizeBytes + 1) }],
  ])('fails without an effect after three downloads with wrong %s', async (_, arrange, wrong) => {
    arrange();
    const made = await cloud.online({ behaviour: quick });
    update({ ...files.artifact(), ...wrong });
    expect(await cloud.result(1)).toMatchObject({
      ...{ success: false, message: 'The update is not what its size and hash say.' },
    });
    expect(files.requests).toHaveLength(3);
    expect(made.device.state.apps).toEqual([]);
    expect(cloud.effects()).toEqual([]);
    expect(parts()).toEqual([]);
  });

  it('can corrupt its own downloads', async () => {
    const made = await cloud.online({ behaviour: { ...quick, corruptDownloads: 1 } });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    expect(files.requests).toHaveLength(2);
    expect(made.behaviour.corruptDownloads).toBe(0);
  });

  it('reports its progress, rising from 0 to 1, while it runs', async () => {
    files.faults.push({ cutAfter: 100_000 });
    await cloud.online({
      behaviour: { ...quick, downloadBytesPerSecond: 1_000_000, effectMs: 60, progressIntervalMs: 20 },
    });
    update();
    expect(await cloud.result(1)).toMatchObject(installed);
    const values = cloud.reported('progress').map(({ transactionId, progress }) => {
      expect(transactionId).toBe(1n);
      return progress;
    });
    expect(values.length).toBeGreaterThan(3);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(values[0]).toBeGreaterThanOrEqual(0);
    expect(values.at(-1)).toBe(0.9);
    expect(cloud.reports.at(-1)?.body.case).toBe('result');
  });

  it('reports the loaded share after a restart, also while it gets no URL', async () => {
    const silent = { progressIntervalMs: 3_600_000 };
    const first = await cloud.online({
      behaviour: { ...quick, ...silent, downloadBytesPerSecond: 100_000 },
    });
    update();
    const part = join(cloud.stateDir, `${deviceId}.update-1.part`);
    await waitFor('some bytes', () => parts().length === 1 && statSync(part).size > 0);
    await first.close();
    const share = (0.9 * statSync(part).size) / sizeBytes;
    cloud.onUrl = () => ({ refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: 5 });
    await cloud.online({ behaviour: { ...quick, progressIntervalMs: 20 } });
    await waitFor('progress', () => cloud.reported('progress').length > 1);
    for (const { progress } of cloud.reported('progress')) expect(progress).toBeCloseTo(share, 5);
  });

  // proves api/9/progress, cb/9/progress, cb/4/in-progress
  it('reports its progress every 10 s by default', async () => {
    const made = await cloud.online();
    expect(made.behaviour.progressIntervalMs).toBe(10_000);
  });
});

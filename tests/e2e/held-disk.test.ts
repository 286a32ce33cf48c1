import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { describeOnStack, stack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';
import type { Receiver } from './receiver.ts';
import { everyRoute, type Route } from './routes.ts';

// MongoDB and Kafka have their own journals: the platform requires `j: true` and `acks: all`.
(stack.kind === 'real' ? describe.skip : describeOnStack)('while the disk does not answer (ADR 0012)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-disk-'));
  const heldFile = join(folder, 'held');
  const hook = join(import.meta.dirname, '..', 'support', 'held-disk.ts');
  let own: OwnPlatform;
  let arrivals: Receiver['arrivals'];

  beforeAll(async () => {
    own = await openOwnPlatform({
      env: { NODE_OPTIONS: `--import=${hook}`, HELD_DISK_FILE: heldFile },
    });
    ({ arrivals } = await own.receiver(() => 204));
  });
  const opened: Headset[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((headset) => headset.close())));
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await own.close();
  });

  const askedFile = `${heldFile}.asked`;
  const hold = () => {
    rmSync(askedFile, { force: true });
    writeFileSync(heldFile, '');
  };
  const release = () => rmSync(heldFile, { force: true });
  /** Resolves when a sync waits for the disk, and the process has answered later calls. */
  async function diskIsAsked(orElse = () => false): Promise<void> {
    await waitFor('a sync to wait for the disk', () => existsSync(askedFile) || orElse());
    for (let i = 0; i < 10; i++) {
      // A call that needs no store: data that was just written is readable only once it is on the disk.
      const { statusCode, body } = await request(own.stack.apiUrl);
      await body.dump();
      expect(statusCode).toBe(403);
    }
  }

  /** A call while the disk is held: true if the call was answered before the disk. */
  async function early({ method, path, body }: Route) {
    let answered = false;
    hold();
    const call = own.api.app(method, path, body).then((answer) => {
      answered = true;
      return answer;
    });
    try {
      await diskIsAsked(() => answered);
      return { answered, call };
    } finally {
      release();
    }
  }

  it.each([
    ['offer', 'no start and no callback', ['accepted', 'processed']],
    ['start', 'no acknowledgement of the result, and not its callback', ['processed']],
  ] as const)('from the %s on, the platform sends %s', async (from, _, callbacks) => {
    const transactionId = await own.command();
    const headset = own.headset();
    opened.push(headset);
    let started = false;
    let heldOnce = false;
    /** Earlier reports of the headset may be acknowledged: their sync was requested before. */
    let reportedBefore = Number.POSITIVE_INFINITY;
    let acknowledged = 0;
    headset.on('received', ({ body }) => {
      started ||= body.case === 'start';
      // Before the headset's answer to the message.
      if (body.case !== from || heldOnce) return;
      heldOnce = true;
      reportedBefore = headset.journal.lastReportId;
      hold();
    });
    headset.on('acknowledged', (reportId) => {
      acknowledged = reportId;
    });
    const came = () =>
      arrivals.filter((a) => a.body.transactionId === transactionId).map((a) => a.body.notificationType);
    try {
      headset.connect();
      await waitFor(`the ${from}`, () => heldOnce);
      await diskIsAsked();
      expect({ started, acknowledged: acknowledged > reportedBefore }).toEqual({
        started: from === 'start',
        acknowledged: false,
      });
      expect(came().filter((one) => callbacks.some((name) => name === one))).toEqual([]);
    } finally {
      release();
    }
    await waitFor('both callbacks', () => came().length === 2);
    await waitFor('the acknowledgement', () => acknowledged > reportedBefore);
    expect(came()).toEqual(['accepted', 'processed']);
  });

  it('read calls are answered meanwhile', async () => {
    const transactionId = await own.command();
    hold();
    try {
      await own.call(200, 'GET', `/transactions/${transactionId}`);
    } finally {
      release();
    }
  });

  // The last test, because it deactivates the device.
  it('every changing call waits, and is answered afterwards', async () => {
    const transactionId = await own.command();
    const routes = everyRoute(own.deviceId, transactionId, 'held').filter(({ reads }) => !reads);
    const wrong: string[] = [];
    for (const route of routes) {
      const { answered, call } = await early(route);
      const { status } = await call;
      const what = `${route.method} ${route.path}`;
      if (!route.answers.includes(status)) wrong.push(`${what} is answered ${status}`);
      // A rejection promises nothing that could be lost.
      if (answered && status < 300) wrong.push(`${what} is answered ${status} too early`);
    }
    expect(wrong).toEqual([]);
  });
});

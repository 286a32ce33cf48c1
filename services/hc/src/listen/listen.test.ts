import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Cloud, closed, type Given, listening, openCloud } from '../testing/cloud.ts';
import { run } from '../testing/run.ts';

interface Arrival {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

let folder: string;
const stops: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-'));
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  rmSync(folder, { recursive: true });
});

const event = (n: number, createdAt = new Date().toISOString(), resend?: number) => ({
  ...(resend !== undefined && { resend }),
  ...{ webhookId: `n-${n}`, type: 'notify-boot', destination: 'deviceEvent', createdAt, deviceId: null },
  body: `{"n":${n},"text":"世界"}`,
});

/** A feed with settings. Cursors are indexes; cursors below `lost` are no longer valid. */
function feed(events: ReturnType<typeof event>[], settings: { authenticationKey?: string }) {
  const state = { lost: 0, away: 0, reads: [] as string[] };
  const answer = (call: string): Given => {
    if (call === 'GET ') return { body: settings };
    state.reads.push(call);
    if (state.away-- > 0) return { status: 503, body: { message: 'Away.' } };
    const query = new URLSearchParams(call.split('?')[1]);
    const after = query.get('after');
    if (after !== null && Number(after) < state.lost) {
      return {
        status: 400,
        body: { message: 'The cursor has expired. Read without after, which begins again.' },
      };
    }
    const since = query.get('from');
    const first = since === null ? 0 : events.findIndex((one) => one.createdAt >= since);
    const from = Number(after ?? (first < 0 ? events.length : first));
    const page = events.slice(from, from + Number(query.get('limit')));
    const end = from + page.length;
    return { body: { events: page, cursor: String(end), more: end < events.length } };
  };
  return { state, answer };
}

/** A server on the laptop; `answer` returns the status for an id at its n-th arrival. */
async function target(answer: (id: string, times: number) => number | undefined = () => 204) {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    const id = String(request.headers['webhook-id']);
    arrivals.push({
      id,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: await text(request),
    });
    const status = answer(id, arrivals.filter((one) => one.id === id).length);
    if (status !== undefined) response.writeHead(status).end(status >= 300 ? 'because' : '');
  });
  const url = await listening(server);
  stops.push(() => closed(server));
  return { url: `${url}/callbacks`, arrivals };
}

async function opened(answer: (call: string) => Given): Promise<Cloud> {
  const cloud = await openCloud(answer);
  stops.push(cloud.close);
  return cloud;
}

/** Runs `hc listen` in this process until `until` returns true; then Ctrl-C. */
async function listen(cloud: Cloud, words: readonly string[], until: (out: string) => boolean) {
  let interrupt = () => {};
  let seen = '';
  const ended = run(
    ['listen', ...words],
    { ...cloud.env, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder },
    {
      onInterrupt: (then) => {
        interrupt = then;
        return () => {};
      },
      onOut: (out) => {
        seen = out;
      },
    },
  );
  const done = { value: false };
  void ended.then(() => {
    done.value = true;
  });
  await waitFor('the expected output', () => done.value || until(seen));
  interrupt();
  return ended;
}

const key = 'the application key';
const ids = (arrivals: readonly Arrival[]) => arrivals.map(({ id }) => id);
const linesOf = (out: string) => out.split('\n').length - 1;

test('every event arrives once and in order, signed like in the cloud with the application’s key', async () => {
  const cloud = await opened(
    feed(
      [1, 2, 3].map((n) => event(n)),
      { authenticationKey: key },
    ).answer,
  );
  const laptop = await target();
  const fromMs = Date.now();
  const { code, out, err } = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest'],
    (seen) => linesOf(seen) === 3,
  );
  expect(code).toBe(0);
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-2', 'n-3']);
  const [first] = laptop.arrivals;
  const timestampSeconds = Number(first?.headers['webhook-timestamp']);
  expect(timestampSeconds).toBeGreaterThanOrEqual(Math.floor(fromMs / 1000));
  expect(timestampSeconds).toBeLessThanOrEqual(Date.now() / 1000);
  const signed = signatureHeaders({
    ...{ notificationId: 'n-1', authenticationKey: key, timestampSeconds },
    body: Buffer.from('{"n":1,"text":"世界"}'),
  });
  const names = [
    'X-TLPF-NOTIFICATION-KEY',
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
    'applicationId',
  ];
  expect(first?.rawHeaders).toEqual(expect.arrayContaining([...names, ...Object.values(signed)]));
  expect(first?.body).toBe('{"n":1,"text":"世界"}');
  expect(out).toMatch(/^\S+Z {2}204 {2,}\d+ ms {2}notify-boot {2}n-1\n/);
  expect(err).toContain("signed with the application's key");
  expect(`${out}${err}`).not.toContain(key);
});

test('a first run starts with new events, and the next run continues where it stopped', async () => {
  const events = [1, 2].map((n) => event(n));
  const cloud = await opened(feed(events, { authenticationKey: key }).answer);
  const laptop = await target();
  const words = ['--forward-to', laptop.url];
  const first = listen(cloud, words, (seen) => linesOf(seen) === 1);
  await waitFor('the end of the feed to be read', () =>
    cloud.asked.some(({ url }) => url.includes('after=2')),
  );
  events.push(event(3));
  expect((await first).err).toContain('Starting with new events');
  events.push(event(4), event(5));
  const { err } = await listen(cloud, words, (seen) => linesOf(seen) === 2);
  expect(err).toContain('Continuing where the last run stopped.');
  expect(ids(laptop.arrivals)).toEqual(['n-3', 'n-4', 'n-5']);
});

test('a run that ended in the middle of a page continues at the unanswered event', async () => {
  const cloud = await opened(
    feed(
      [1, 2, 3, 4].map((n) => event(n)),
      { authenticationKey: key },
    ).answer,
  );
  const laptop = await target((id, times) => (id === 'n-3' && times === 1 ? 500 : 204));
  const words = ['--forward-to', laptop.url];
  await listen(cloud, [...words, '--from', 'oldest'], (seen) => linesOf(seen) === 3);
  await listen(cloud, words, (seen) => linesOf(seen) === 2);
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-2', 'n-3', 'n-3', 'n-4']);
});

test('resends are forwarded once each, also after a kill; --no-resends leaves them out', async () => {
  const yesterday = new Date(ago(86_400_000)).toISOString();
  const events = [event(1, yesterday)];
  const cloud = await opened(feed(events, { authenticationKey: key }).answer);
  const laptop = await target();
  const words = ['--forward-to', laptop.url, '--json'];
  const began = (times: number) => () =>
    cloud.asked.filter(({ url }) => /after=.*resends=true/.test(url)).length >= times;
  // Starts at a time. A resend is forwarded although its event is older.
  const first = listen(cloud, [...words, '--from', '2h'], (seen) => linesOf(seen) === 3);
  await waitFor('the end of the feed to be read', began(1));
  events.push(event(1, yesterday, 1), event(2), event(1, yesterday, 2));
  const { out } = await first;
  const output = out.trim().split('\n');
  expect(output.map((line) => JSON.parse(line).resend)).toEqual([1, null, 2]);
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-2', 'n-1']);
  events.push(event(2, yesterday, 1));
  await listen(cloud, words, (seen) => linesOf(seen) === 1);
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-2', 'n-1', 'n-2']);
  await listen(cloud, [...words, '--no-resends'], () =>
    cloud.asked.some(({ url }) => /after=5/.test(url) && !url.includes('resends')),
  );
});

test('the answer of a target is shown without the key and the signatures', async () => {
  const cloud = await opened(feed([event(1)], { authenticationKey: key }).answer);
  const server = createServer((request, response) => {
    const { 'webhook-signature': signature, 'webhook-id': id } = request.headers;
    response.writeHead(500).end(`broken ${id}: ${key} ${encodeURIComponent(key)} ${signature}`);
  });
  const url = await listening(server);
  stops.push(() => closed(server));
  const words = ['--forward-to', url, '--from', 'oldest'];
  const { out } = await listen(cloud, words, (seen) => linesOf(seen) === 1);
  expect(out).toContain('broken n-1: ****');
  expect(out).not.toMatch(/application key|application%20key|v1,\S*[A-Za-z0-9]/);
});

test('plain http to another machine must be allowed', async () => {
  const cloud = await opened(feed([], { authenticationKey: key }).answer);
  const refused = await listen(cloud, ['--forward-to', 'http://192.0.2.1/callbacks'], () => false);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--allow-http') });
  const allowed = await listen(cloud, ['--forward-to', 'http://192.0.2.1/callbacks', '--allow-http'], () =>
    cloud.asked.some(({ url }) => url.includes('after=')),
  );
  expect(allowed.code).toBe(0);
});

test('a failing target is retried in order, with output; 410 drops an event', async () => {
  const cloud = await opened(
    feed(
      [1, 2, 3].map((n) => event(n)),
      { authenticationKey: key },
    ).answer,
  );
  const laptop = await target((id, times) => (id === 'n-1' && times < 3 ? 500 : id === 'n-2' ? 410 : 200));
  const { out } = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest', '--json'],
    (seen) => linesOf(seen) === 5,
  );
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-1', 'n-1', 'n-2', 'n-3']);
  const output = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(
    output.map(({ webhookId, attempt, status, outcome, reason, nextInMs }) => [
      webhookId,
      attempt,
      status,
      outcome,
      reason,
      nextInMs,
    ]),
  ).toEqual([
    ['n-1', 1, 500, 'again', 'because', 1000],
    ['n-1', 2, 500, 'again', 'because', 2000],
    ['n-1', 3, 200, 'taken', null, null],
    ['n-2', 1, 410, 'gone', 'because', null],
    ['n-3', 1, 200, 'taken', null, null],
  ]);
});

test('a retried event is shown with the same word for its attempts', async () => {
  const cloud = await opened(feed([event(1)], { authenticationKey: key }).answer);
  const laptop = await target((_, times) => (times === 1 ? 500 : 204));
  const { out } = await listen(
    cloud,
    ['--forward-to', laptop.url, '--since', 'oldest'],
    (seen) => linesOf(seen) === 2,
  );
  expect(out).toMatch(/ \(attempt 1, retry in 1 s: because\)\n.* \(attempt 2\)\n$/);
});

test('an expired cursor is replaced without a gap, and without forwarding events twice', async () => {
  const old = event(1, '2020-01-01T00:00:00.000Z');
  const events = [old, event(2), event(3)];
  const { state, answer } = feed(events, { authenticationKey: key });
  const cloud = await opened(answer);
  const laptop = await target();
  const words = ['--forward-to', laptop.url];
  await listen(cloud, [...words, '--from', '1h'], (seen) => linesOf(seen) === 2);
  events.push(event(4));
  state.lost = 4;
  const { err } = await listen(cloud, words, (seen) => linesOf(seen) === 1);
  expect(ids(laptop.arrivals)).toEqual(['n-2', 'n-3', 'n-4']);
  expect(err).toContain('The cursor has expired.');
  expect(err).toContain('The last 2 events are remembered');
});

test('an old event that is stored late is forwarded, too', async () => {
  const events = [event(1)];
  const cloud = await opened(feed(events, { authenticationKey: key }).answer);
  const laptop = await target();
  const listening = listen(
    cloud,
    ['--forward-to', laptop.url, '--from', '1h'],
    (seen) => linesOf(seen) === 2,
  );
  await waitFor(
    'the first one, and that the feed is at its end',
    () => cloud.asked.filter(({ url }) => url.includes('after=1')).length > 0 && laptop.arrivals.length === 1,
  );
  events.push(event(2, '2020-01-01T00:00:00.000Z'));
  await listening;
  expect(ids(laptop.arrivals)).toEqual(['n-1', 'n-2']);
});

test('an unavailable API is reported once, and calls are retried', async () => {
  const { state, answer } = feed([event(1)], { authenticationKey: key });
  const cloud = await opened(answer);
  const laptop = await target();
  state.away = 2;
  const { code, err } = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest'],
    (seen) => linesOf(seen) === 1,
  );
  expect(code).toBe(0);
  expect(err.match(/Away\. \(503/g)).toHaveLength(1);
  expect(err).toContain('The API answers again.');
});

test('a renewed key is used when the target rejects the old key', async () => {
  const settings = { authenticationKey: key };
  const cloud = await opened(feed([event(1)], settings).answer);
  const signed = (secret: string, { headers, body }: Arrival) =>
    signatureHeaders({
      ...{ notificationId: 'n-1', authenticationKey: secret, body: Buffer.from(body) },
      timestampSeconds: Number(headers['webhook-timestamp']),
    })['X-TLPF-NOTIFICATION-KEY'];
  const laptop = await target((_, times) => {
    settings.authenticationKey = 'the new key';
    return times === 1 ? 401 : 204;
  });
  const { err } = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest'],
    (seen) => linesOf(seen) === 2,
  );
  const [first, second] = laptop.arrivals as [Arrival, Arrival];
  expect(first.headers['x-tlpf-notification-key']).toBe(signed(key, first));
  expect(second.headers['x-tlpf-notification-key']).toBe(signed('the new key', second));
  expect(err).toContain('The application has a new key');
});

test("without a key of the application, or on request, hc's own key signs; it stays the same and is shown", async () => {
  const cloud = await opened(feed([event(1)], {}).answer);
  const laptop = await target();
  const shown = (err: string) => /hc's own key on your server: (hc_[\w-]{43})\n/.exec(err)?.[1];
  const first = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest'],
    (seen) => linesOf(seen) === 1,
  );
  expect(first.err).toContain('The application has no key yet');
  const second = await listen(
    cloud,
    ['--forward-to', laptop.url, '--from', 'oldest', '--own-key'],
    (seen) => linesOf(seen) === 1,
  );
  expect(shown(first.err)).toBeDefined();
  expect(shown(second.err)).toBe(shown(first.err));
  expect(`${first.out}${second.out}`).not.toContain('hc_');
});

test('Ctrl-C waits for the request in progress, a second Ctrl-C does not', async () => {
  const cloud = await opened(feed([event(1), event(2)], { authenticationKey: key }).answer);
  const laptop = await target(() => undefined);
  let interrupt = () => {};
  const ended = run(
    ['listen', '--forward-to', laptop.url, '--from', 'oldest'],
    { ...cloud.env, XDG_STATE_HOME: folder },
    {
      onInterrupt: (then) => {
        interrupt = then;
        return () => {};
      },
    },
  );
  await waitFor('an event in progress', () => laptop.arrivals.length === 1);
  interrupt();
  await new Promise((resolve) => setImmediate(resolve));
  interrupt();
  const { code, err } = await ended;
  expect(code).toBe(130);
  expect(err).toContain('Press Ctrl-C again to stop now.');
  expect(err).toContain('The event in progress was not answered.');
  expect(ids(laptop.arrivals)).toEqual(['n-1']);
});

test('a user and a password of the target are sent, and not shown', async () => {
  const cloud = await opened(feed([event(1)], { authenticationKey: key }).answer);
  const laptop = await target();
  const url = laptop.url.replace('http://', 'http://me:p%40ss@');
  const { out, err } = await listen(
    cloud,
    ['--forward-to', url, '--from', 'oldest'],
    (seen) => linesOf(seen) === 1,
  );
  expect(laptop.arrivals[0]?.headers.authorization).toBe(
    `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
  );
  expect(`${out}${err}`).not.toContain('p%40ss');
});

test.each(['ftp://x', 'http://', ':::'])('the target %s is rejected', async (url) => {
  const cloud = await opened(feed([], {}).answer);
  expect(await run(['listen', '--forward-to', url], cloud.env)).toMatchObject({ code: 2 });
});

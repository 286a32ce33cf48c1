import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createWebhookServer, type WebhookServer } from './server.ts';

let server: WebhookServer | undefined;
afterEach(() => server?.stop(0));

const secret = 'a';
const mib = 1024 * 1024;
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** A server whose receiver stores every body that is sent with the secret. */
async function open({ maxBytes = 65_536 } = {}) {
  const errors: unknown[] = [];
  const outcomes: string[] = [];
  const bodies: Buffer[] = [];
  const made = createWebhookServer({
    listen: { host: '127.0.0.1', port: 0 },
    receiver: {
      authenticate: async (_, token) => token === secret,
      receive: async (_, body) => {
        bodies.push(body);
        return 'stored';
      },
    },
    maxBytes,
    logger: { error: (...line: unknown[]) => errors.push(line) } as unknown as Logger,
    onAnswer: (outcome) => outcomes.push(outcome),
  });
  server = made;
  await made.start();
  return { port: made.port(), errors, outcomes, bodies };
}

/** Opens a connection that has sent the head of a webhook with a chunked body and does not read yet. */
function begin(port: number, { path = '/webhooks/sora/one', token = secret, headers = '' } = {}): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).pause();
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`,
  );
  return socket;
}

/** Reads the connection to its end. */
async function rest(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
  return text;
}
/** Sends one more request. When it is answered, everything that arrived before it has been handled. */
async function ask(port: number): Promise<void> {
  await (await fetch(`http://127.0.0.1:${port}/`)).text();
}
const statusOf = (answer: string) => Number(answer.slice(9, 12));

// protects against sora/form
test.each([
  ['is cut off', 'Content-Length: 100\r\n\r\n{"type":'],
  ['has a broken chunk', 'Transfer-Encoding: chunked\r\n\r\n8\r\n{"type":\r\nzz\r\n'],
])(
  'a webhook whose body %s is the sender’s fault: nothing is stored, and no error is logged',
  async (_, rest) => {
    const { port, errors, outcomes, bodies } = await open();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.end(`POST /webhooks/sora/one HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\n${rest}`);
    await waitFor('the outcome', () => outcomes.length > 0);
    expect([outcomes, bodies, errors]).toEqual([['refused'], [], []]);
  },
);

// protects against sora/form
test.each([
  ['a wrong secret', { token: 'b' }, 50, 401],
  ['another path', { path: '/' }, 50, 404],
  ['too large a body', {}, 101, 413],
])(
  'a sender with %s that reads only after it has sent everything gets its response',
  async (_, how, bytes, status) => {
    const { port, outcomes } = await open({ maxBytes: 100 });
    const socket = begin(port, { ...how, headers: 'Connection: close\r\n' });
    socket.write(chunk('a'.repeat(bytes)));
    await waitFor('the outcome', () => outcomes.length > 0);
    // The response is already sent. Another piece follows it, and one more after that piece was received.
    for (let piece = 0; piece < 2; piece += 1) {
      await ask(port);
      await new Promise((resolve) => socket.write(chunk('bb'), resolve));
    }
    socket.write('0\r\n\r\n');
    expect(statusOf(await rest(socket))).toBe(status);
  },
);

test('the connection of a rejected sender that continues sending is closed', async () => {
  const { port, outcomes } = await open({ maxBytes: 65_536 });
  const socket = begin(port, { token: 'b' });
  await waitFor('the outcome', () => outcomes.length > 0);
  let sent = 0;
  while (!socket.destroyed && sent < 32 * mib) {
    await new Promise((resolve) => socket.write(chunk('a'.repeat(65_536)), resolve));
    sent += 65_536;
  }
  expect(sent).toBeLessThan(16 * mib);
});

// protects against sora/bodies
test('small webhooks do not use the memory budget of large ones: many are stored at once, also in pieces', async () => {
  const { port, outcomes, bodies } = await open({ maxBytes: mib });
  const sockets = Array.from({ length: 100 }, () => begin(port, { headers: 'Connection: close\r\n' }));
  for (const socket of sockets) socket.write(chunk('a'.repeat(20_000)));
  const answers = sockets.map(rest);
  await ask(port);
  for (const socket of sockets) socket.write(`${chunk('b')}0\r\n\r\n`);
  expect(new Set((await Promise.all(answers)).map(statusOf))).toEqual(new Set([200]));
  expect([bodies.length, outcomes.filter((outcome) => outcome === 'stored').length]).toEqual([100, 100]);
});

// protects against sora/bodies
test('large webhooks beyond the memory budget get 503 with Retry-After until the budget is free again', async () => {
  const { port, outcomes, bodies } = await open({ maxBytes: mib });
  const large = 'a'.repeat(1_000_000);
  const sockets = Array.from({ length: 40 }, () => begin(port, { headers: 'Connection: close\r\n' }));
  const answers = sockets.map(rest);
  for (const socket of sockets) socket.write(chunk(large));
  await waitFor('the refusals', () => outcomes.length === 8);
  for (const socket of sockets) socket.write('0\r\n\r\n');
  const answered = await Promise.all(answers);
  const refused = answered.filter((answer) => statusOf(answer) === 503);
  expect(refused).toHaveLength(8);
  for (const answer of refused) expect(answer.toLowerCase()).toContain('\r\nretry-after: 1\r\n');
  expect(bodies).toHaveLength(32);
  const again = begin(port, { headers: 'Connection: close\r\n' });
  again.write(`${chunk(large)}0\r\n\r\n`);
  expect(statusOf(await rest(again))).toBe(200);
});

test.each([
  'http://sora.example:8080/webhooks/sora/one',
  '/webhooks/sora/one?x=1',
  'http://sora.example/webhooks/sora/one?x=1',
])('a webhook to the target %s is stored', async (path) => {
  const { port, bodies } = await open();
  const socket = begin(port, { path, headers: 'Connection: close\r\n' });
  socket.write(`${chunk('{}')}0\r\n\r\n`);
  expect(statusOf(await rest(socket))).toBe(200);
  expect(bodies.map(String)).toEqual(['{}']);
});

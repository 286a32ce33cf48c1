import { connect, type Socket } from 'node:net';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deviceId } from './testing/fakes.ts';
import { startTestGateway, type TestGateway } from './testing/gateway.ts';

const app = '/v1/applications/app-1';
const commands = `${app}/devices/${deviceId}/commands`;
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const get = (extra = '', of = gateway) =>
  `GET ${app} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${of.token()}\r\n${extra}\r\n`;
const put = (extra: string, body = '', of = gateway) =>
  `PUT ${commands} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer ${of.token()}\r\n${extra}\r\n${body}`;
const form = (status: number) =>
  new RegExp(
    `^HTTP/1\\.1 ${status} [\\s\\S]*x-request-id: [\\w-]+\\r\\n[\\s\\S]*\\{"message":"[^"]+"\\}$`,
    'i',
  );

/** A connection whose received text a test can watch. */
function open(port: number, text: string): { socket: Socket; received: () => string; closed: () => boolean } {
  let received = '';
  let closed = false;
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  return { socket, received: () => received, closed: () => closed };
}

describe('an invalid request gets an answer in the form of all errors', () => {
  test.each([
    ['nonsense', () => 'HELLO\r\n\r\n', 400],
    ['a bad header', () => `GET ${app} HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n`, 400],
    ['both lengths', () => put('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
    ['two lengths', () => put('Content-Length: 5\r\nContent-Length: 6\r\n', 'xxxxxx'), 400],
    ['no Host', () => `GET ${app} HTTP/1.1\r\n\r\n`, 400],
    ['headers over 16 KiB', () => get(`X-Pad: ${'x'.repeat(17_000)}\r\n`), 431],
    ['a flood of headers', () => get('X-Flood: yyyyyyyyyy\r\n'.repeat(2000)), 431],
    ['a path over 16 KiB', () => `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  ])('%s', async (_, text, status) => {
    expect(await gateway.raw(text())).toMatch(form(status));
  });
});

test('the path of an absolute-form request target is used', async () => {
  const request = get('Connection: close\r\n').replace(app, `http://api.example:8080${app}`);
  expect(await gateway.raw(request)).toMatch(/^HTTP\/1.1 200 /);
});

describe('slow requests', () => {
  let hurried: TestGateway;
  beforeAll(async () => {
    hurried = await startTestGateway({ HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '600' });
  });
  afterAll(() => hurried.stop());

  test('headers without an end get 408', async () => {
    expect(await hurried.raw(`GET ${app} HTTP/1.1\r\nHost: a\r\n`)).toMatch(form(408));
  });
  test('a missing body gets 408', async () => {
    expect(await hurried.raw(put('Content-Length: 30\r\n', '{"launch', hurried))).toMatch(form(408));
    expect(hurried.fakes.seen.some((s) => s.rpc === 'sendOperation')).toBe(false);
  });
  test('a client that disconnects within its body affects no other client', async () => {
    const { socket } = open(gateway.server.port, put('Content-Length: 30\r\n', '{"launch'));
    socket.on('connect', () => socket.destroy());
    await waitFor('the connection to end', () => socket.destroyed);
    expect((await gateway.request('GET', app)).status).toBe(200);
  });
  test('a client that continues sending an unwanted body is disconnected after its answer', async () => {
    const time = createFakeTime();
    const own = await startTestGateway({}, { time });
    try {
      const huge = `PUT ${commands} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n`;
      const client = open(own.server.port, huge);
      await waitFor('the answer', () => client.received().startsWith('HTTP/1.1 401 '));
      await waitFor('the gateway to give the client some time', () => time.timers > 0);
      await time.advance(1999);
      client.socket.write('x'.repeat(1000));
      expect((await own.request('GET', app)).status).toBe(200);
      expect(client.closed()).toBe(false);
      await time.advance(1);
      await waitFor('the end', () => {
        client.socket.write('x'.repeat(1000));
        return client.closed();
      });
    } finally {
      await own.stop();
    }
  });
});

describe('Expect: 100-continue', () => {
  test('an accepted request gets 100 Continue', async () => {
    const client = open(
      gateway.server.port,
      put('Content-Length: 25\r\nExpect: 100-continue\r\nConnection: close\r\n'),
    );
    await waitFor('continue', () => client.received().startsWith('HTTP/1.1 100 '));
    client.socket.write('{"launchType":"activity"}');
    await waitFor('the answer', client.closed);
    expect(client.received()).toContain('HTTP/1.1 201 ');
  });
  test('a body that is too large is rejected before it is sent', async () => {
    const answer = await gateway.raw(
      put('Content-Length: 70000\r\nExpect: 100-continue\r\nConnection: close\r\n'),
    );
    expect(answer).toMatch(form(413));
  });
});

// protects against rest/pipelining
test('one connection serves many requests, also pipelined', async () => {
  const answer = await gateway.raw(get() + get() + get('Connection: close\r\n'));
  expect(answer.match(/HTTP\/1\.1 200 /g)).toHaveLength(3);
});

// protects against rest/slow-reader
test('a stalled reader is disconnected, and no further page of the list is read', async () => {
  const own = await startTestGateway({ SOCKET_STALL_TIMEOUT_MS: '1500' });
  const wide = 'x'.repeat(1_000_000);
  let pages = 0;
  own.fakes.answers.listDeviceStatuses = async () => {
    pages++;
    return {
      statuses: [{ deviceId: String(350_000_000_000_000 + pages), firmwareVersion: wide }],
      more: true,
    };
  };
  const client = open(
    own.server.port,
    `GET ${app}/devices/status HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own.token()}\r\n\r\n`,
  );
  client.socket.pause();
  try {
    await waitFor('the gateway to give up', () => own.logs.some((l) => l['msg'] === 'answer interrupted'));
    const asked = pages;
    expect((await own.request('GET', app)).status).toBe(200);
    expect(pages).toBe(asked);
    expect(asked).toBeLessThan(50);
  } finally {
    client.socket.destroy();
    await own.stop();
  }
});

describe('graceful stop', () => {
  test('finishes open requests, accepts no new connection, and leaves nothing open', async () => {
    const own = await startTestGateway();
    let finish: (() => void) | undefined;
    own.fakes.answers.getSettings = () =>
      new Promise((resolve) => {
        finish = () => resolve({});
      });
    const idle = open(own.server.port, get('', own).replace(app, '/'));
    await waitFor('an idle connection', () => idle.received().includes('"message"'));
    const busy = open(own.server.port, get('', own));
    await waitFor('the open request', () => finish);
    expect(own.server.notReady?.()).toBeUndefined();

    const { port } = own.server;
    const stopped = own.stop();
    expect(own.server.notReady?.()).toBe('draining');
    await waitFor('the idle connection to close', idle.closed);
    const refused = open(port, get('', own));
    await waitFor('the new connection to be rejected', refused.closed);
    expect(refused.received()).toBe('');
    expect(busy.closed()).toBe(false);

    finish?.();
    await stopped;
    await waitFor('the end', busy.closed);
    expect(busy.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
  });

  test('aborts unfinished requests at the deadline', async () => {
    const own = await startTestGateway();
    own.fakes.answers.getSettings = () => new Promise(() => {});
    const busy = open(own.server.port, get('', own));
    await waitFor('the open request', () => own.fakes.seen.some((s) => s.rpc === 'getSettings'));
    await own.stop(50);
    await waitFor('the end', busy.closed);
    expect(busy.received()).toBe('');
  });

  test('while it drains, it serves every call and asks clients to open their next connection elsewhere', async () => {
    const own = await startTestGateway();
    let finish: (() => void) | undefined;
    own.fakes.answers.getSettings = () =>
      new Promise((resolve) => {
        finish = () => resolve({});
      });
    const kept = open(own.server.port, get('', own).replace(app, '/'));
    await waitFor('the first answer', () => kept.received().includes('"message"'));
    expect(kept.received()).not.toMatch(/connection: close/i);
    const busy = open(own.server.port, get('', own));
    await waitFor('the open request', () => finish);

    own.server.beginDrain();
    finish?.();
    await waitFor('the end of the open request', busy.closed);
    expect(busy.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    own.fakes.answers.getSettings = async () => ({});
    kept.socket.write(get('', own));
    await waitFor('the kept connection to end', kept.closed);
    expect(kept.received()).toMatch(/HTTP\/1\.1 200 [\s\S]*connection: close/i);
    const late = open(own.server.port, get('', own));
    await waitFor('the end of a new connection', late.closed);
    expect(late.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    await own.stop();
  });

  test('a port in use causes a clear message', async () => {
    await expect(startTestGateway({ GATEWAY_LISTEN: `127.0.0.1:${gateway.server.port}` })).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*GATEWAY_LISTEN/,
    );
  });
});

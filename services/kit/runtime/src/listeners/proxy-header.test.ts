import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createFakeTime } from '../testing/fake-time.ts';
import { waitFor } from '../testing/wait.ts';
import { readProxyHeader, takeProxyHeader } from './proxy-header.ts';

const signature = '0d0a0d0a000d0a515549540a';
const version2 = (hex: string) => Buffer.from(signature + hex.replaceAll(' ', ''), 'hex');
const version1 = (line: string) => Buffer.from(line, 'latin1');

// Examples from HAProxy's proxy-protocol.txt, and forms that load balancers send according to its authors.
const right: [string, Buffer, string | undefined][] = [
  ['1, IPv4', version1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n'), '192.0.2.7'],
  ['1, IPv6', version1('PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n'), '2001:db8::7'],
  ['1, unknown', version1('PROXY UNKNOWN\r\n'), undefined],
  ['1, unknown with addresses', version1('PROXY UNKNOWN ff::1 ff::2 1 2\r\n'), undefined],
  ['2, IPv4', version2('21 11 000c c0000207 c6336401 dc04 01bb'), '192.0.2.7'],
  [
    '2, IPv6',
    version2('21 21 0024 20010db8000000000000000000000007 20010db8000000000000000000000001 dc04 01bb'),
    '2001:db8::7',
  ],
  ['2, IPv4 with an extension', version2('21 11 0011 c0000207 c6336401 dc04 01bb 04 0002 0000'), '192.0.2.7'],
  ['2, a health check of the proxy itself', version2('20 00 0000'), undefined],
  ['2, a health check with addresses', version2('20 11 000c c0000207 c6336401 dc04 01bb'), undefined],
  ['2, a UNIX socket', version2(`21 31 00d8 ${'00'.repeat(216)}`), undefined],
];

test.each(right)('version %s: reads the client address from the complete header', (_, header, address) => {
  const whole = Buffer.concat([header, Buffer.from('\x16\x03\x01')]);
  for (let length = 0; length < header.length; length++) {
    expect(readProxyHeader(whole.subarray(0, length))).toBeUndefined();
  }
  for (let length = header.length; length <= whole.length; length++) {
    expect(readProxyHeader(whole.subarray(0, length))).toEqual({ length: header.length, address });
  }
});

// protects against headsets/address-spoofed
test.each([
  ['TLS without a header', Buffer.from('16030100', 'hex'), 'no PROXY header'],
  ['HTTP', version1('GET / HTTP/1.1\r\n'), 'no PROXY header'],
  ['a line that never ends', version1(`PROXY TCP4 ${'1'.repeat(200)}`), 'over 107 bytes'],
  ['a line with a name', version1('PROXY TCP4 localhost 198.51.100.1 1 2\r\n'), 'without a client address'],
  ['an address of the other family', version1('PROXY TCP4 ::1 ::1 1 2\r\n'), 'without a client address'],
  ['an unknown family', version1('PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n'), 'without a client address'],
  ['version 3', version2('31 11 000c c0000207 c6336401 dc04 01bb'), 'unknown version'],
  ['an unknown command', version2('22 11 000c c0000207 c6336401 dc04 01bb'), 'unknown version'],
  ['addresses that are cut off', version2('21 11 0004 c0000207'), 'without a client address'],
  [
    'IPv6 with the length of IPv4',
    version2('21 21 000c c0000207 c6336401 dc04 01bb'),
    'without a client address',
  ],
  ['64 KiB', version2('21 11 ffff'), 'over 4096 bytes'],
])('refused: %s', (_, bytes, message) => {
  expect(() => readProxyHeader(bytes)).toThrow(message);
});

describe('a connection', () => {
  const closing: { destroy?(): void; close?(): void }[] = [];
  afterEach(() => {
    for (const one of closing.splice(0)) one.destroy?.() ?? one.close?.();
  });

  async function pair(): Promise<{ client: Socket; accepted: Socket }> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
    client.on('error', () => {});
    const [accepted] = (await once(server, 'connection')) as [Socket];
    closing.push(client, accepted, server);
    return { client, accepted };
  }

  const header = version1('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n');

  test('returns its own bytes afterwards, however they were split', async () => {
    for (const parts of [
      [Buffer.concat([header, Buffer.from('hello')])],
      [header, Buffer.from('hello')],
      [
        header.subarray(0, 3),
        header.subarray(3, 40),
        Buffer.concat([header.subarray(40), Buffer.from('hel')]),
        Buffer.from('lo'),
      ],
    ]) {
      const { client, accepted } = await pair();
      const taken = takeProxyHeader(accepted, 10_000);
      let sent = 0;
      for (const part of parts) {
        client.write(part);
        sent += part.length;
        // Bytes behind the header are read later.
        await waitFor('the part', () => accepted.bytesRead >= Math.min(sent, header.length));
      }
      expect(await taken).toEqual({ length: header.length, address: '192.0.2.7' });
      let text = '';
      accepted.on('data', (chunk) => {
        text += chunk;
      });
      client.end();
      await once(accepted, 'end');
      expect(text).toBe('hello');
    }
  });

  test('that sends nothing, or ends, is an error', async () => {
    const silent = await pair();
    const time = createFakeTime();
    const none = expect(takeProxyHeader(silent.accepted, 20, time)).rejects.toThrow('in time');
    await time.advance(20);
    await none;
    const leaving = await pair();
    const taken = takeProxyHeader(leaving.accepted, 10_000);
    leaving.client.end('PROXY TCP4 ');
    await expect(taken).rejects.toThrow('ended');
  });
});

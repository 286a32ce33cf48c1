import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import type { Random } from '../../faults/random.ts';
import { mutatedBytes, pieces, randomBytes } from './bytes.ts';
import {
  authorizationOf,
  encode,
  frame,
  hello,
  kindOf,
  openLink,
  path,
  rightHeaders,
  sentinel,
  wrongStatus,
} from './link.ts';
import { fuzz, type Outcome } from './listener.ts';
import { spares } from './world.ts';

/** Time limit for the end of an invalid stream. The server may wait longer for further bytes. Milliseconds. */
const patienceMs = 400;

/**
 * Bytes of the headsets' stream: changed gRPC and HTTP/2 frames, and bytes around frames. The transport is invalid,
 * so an answer is not required. An answer must not be a server error.
 */
// protects against headsets/protocol, headsets/large-message, headsets/bomb, headsets/log-disclosure
export const streamBytes = fuzz('changed bytes of the headsets’ stream harm only their sender', {
  name: 'stream',
  atOnce: spares.bytes.length,
  async open({ stack, spare }) {
    return {
      async one(random, lane) {
        const device = spare.devices[spares.bytes[lane] ?? -1];
        if (!device) throw new Error('no device for this lane');
        const address = stack.deviceLinkUrls[lane % stack.deviceLinkUrls.length] ?? '';
        return random.chance(0.5) ? grpcCase(address, device, random) : rawCase(address, device, random);
      },
    };
  },
});

const right = () => [
  encode(hello()),
  encode({ case: 'report', value: { reportId: 1n, body: { case: 'signal', value: { level: 1 } } } }),
  sentinel,
];

/** Valid HTTP/2 with invalid gRPC content. */
async function grpcCase(address: string, device: HeadsetKeyFile, random: Random): Promise<Outcome> {
  const headers = changedHeaders(rightHeaders(device), random);
  let bytes = Buffer.concat(right().map((message) => changedFrame(message, random)));
  if (random.chance(0.3)) bytes = Buffer.from(mutatedBytes(bytes, random));
  const sent = Buffer.concat([Buffer.from(JSON.stringify(headers)), bytes]);
  let link: ReturnType<typeof openLink>;
  try {
    link = openLink(address, headers);
  } catch {
    return { sent, expectsAnswer: false, kind: 'not sent' };
  }
  for (const piece of pieces(bytes, random).slice(0, 300)) link.stream.write(piece);
  if (random.chance(0.3)) link.stream.end();
  if (random.chance(0.1)) link.stream.close(random.between(0, 13));
  const end = await link.over(patienceMs);
  link.close();
  const wrong = wrongStatus(end);
  return { sent, expectsAnswer: false, kind: kindOf(end), status: end.http, ...(wrong && { wrong }) };
}

function changedFrame(message: Buffer, random: Random): Buffer {
  switch (random.between(0, 11)) {
    case 0:
      return frame(message, random.pick([1, 2, 0x80, 0xff]));
    case 1:
      return frame(
        message,
        0,
        random.pick([0, 1, message.length - 1, message.length + 1, 2 ** 20, 2 ** 31, 2 ** 32 - 1]),
      );
    case 2:
      return frame(gzipSync(message), 1);
    case 3:
      return frame(gzipSync(Buffer.alloc(8 * 1024 * 1024)), 1);
    case 4:
      return frame(Buffer.alloc(random.pick([0, 262_144, 262_145, 524_288, 524_289]), 1));
    case 5:
      return frame(message).subarray(0, random.between(0, message.length + 5));
    case 6:
      return randomBytes(random.between(0, 100), random);
    default:
      return frame(message);
  }
}

function changedHeaders(headers: Record<string, string>, random: Random): Record<string, string> {
  if (random.chance(0.5)) return headers;
  return {
    ...headers,
    ...random.pick<Record<string, string>>([
      { 'grpc-encoding': random.pick(['gzip', 'deflate', 'identity', 'br', 'x', '']) },
      {
        'content-type': random.pick([
          'application/grpc+json',
          'application/grpc+proto',
          'text/plain',
          '',
          'application/grpc-web',
        ]),
      },
      { te: random.pick(['gzip', '', 'trailers, deflate']) },
      {
        ':path': random.pick([
          '/',
          path.toLowerCase(),
          `${path}/`,
          `${path}?a=1`,
          '/%2e%2e/',
          `/${'x'.repeat(5000)}`,
          '*',
          '//',
        ]),
      },
      { ':method': random.pick(['GET', 'PUT', 'OPTIONS', 'HEAD', 'CONNECT', 'X']) },
      {
        'grpc-timeout': random.pick(['0n', '1m', '99999999H', '-1S', '1', '100000000S', '1e3S', '10mm', '']),
      },
      { 'grpc-accept-encoding': 'x,y,z' },
      { 'x-long': 'x'.repeat(random.pick([1000, 8000, 20_000])) },
      { 'x-bin': random.pick(['!!!', 'AA', 'AAA=,AAA=']) },
      {
        authorization: mutatedBytes(Buffer.from(headers['authorization'] ?? ''), random)
          .toString('latin1')
          .replaceAll(/[^\x20-\x7e\x80-\xff]/g, ''),
      },
      { 'content-length': random.pick(['0', '1', '999999']) },
      { host: 'other', ':authority': random.pick(['', 'a:b:c', '[::1', '\xff']) },
    ]),
  };
}

/** An HTTP/2 frame that is changed before it is written. */
interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
  /** Replaces the length of the payload. */
  length?: number;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Sends generated frames on a TCP connection. */
async function rawCase(address: string, device: HeadsetKeyFile, random: Random): Promise<Outcome> {
  const frames = rightFrames(device);
  for (let left = random.pick([1, 1, 2, 3]); left > 0; left -= 1) changeFrames(frames, random);
  let bytes = Buffer.concat([preface, ...frames.map(writeFrame)]);
  if (random.chance(0.3)) bytes = Buffer.from(mutatedBytes(bytes, random));
  if (random.chance(0.15)) bytes = Buffer.from(random.pick(starts)(bytes, random));
  const [host = '', port = ''] = address.split(':');
  const received = await new Promise<number>((resolve) => {
    let count = 0;
    const socket = connect(Number(port), host);
    const over = () => {
      clearTimeout(late);
      socket.resetAndDestroy();
      resolve(count);
    };
    const late = setTimeout(over, patienceMs);
    socket.setNoDelay(true);
    socket.on('error', () => {}).on('close', over);
    socket.on('data', (data) => {
      count += data.length;
    });
    socket.once('connect', () => {
      for (const piece of random.chance(0.3) ? pieces(bytes, random).slice(0, 300) : [bytes])
        socket.write(piece);
    });
  });
  return { sent: bytes, expectsAnswer: false, kind: received > 0 ? 'frames came' : 'nothing came' };
}

/** The frames of a valid client: settings, headers, three messages. */
function rightFrames(device: HeadsetKeyFile): Frame[] {
  const headers = { ...rightHeaders(device), authorization: authorizationOf(device) };
  return [
    { type: 4, flags: 0, stream: 0, payload: Buffer.alloc(0) },
    { type: 4, flags: 1, stream: 0, payload: Buffer.alloc(0) },
    {
      type: 1,
      flags: 4,
      stream: 1,
      payload: headerBlock({ ...headers, ':scheme': 'http', ':authority': 'a' }),
    },
    ...right().map((message): Frame => ({ type: 0, flags: 0, stream: 1, payload: frame(message) })),
  ];
}

/** HPACK without a table: each field literal, pseudo-header fields first. */
function headerBlock(headers: Record<string, string>): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, 'latin1');
    const length: number[] = [];
    let rest = bytes.length;
    if (rest < 127) length.push(rest);
    else {
      length.push(127);
      for (rest -= 127; rest >= 128; rest >>= 7) length.push((rest & 0x7f) | 0x80);
      length.push(rest);
    }
    return Buffer.concat([Buffer.from(length), bytes]);
  };
  const entries = Object.entries(headers).toSorted(
    ([a], [b]) => Number(b.startsWith(':')) - Number(a.startsWith(':')),
  );
  return Buffer.concat(entries.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

function writeFrame({ type, flags, stream, payload, length = payload.length }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length & 0xffffff, 0, 3);
  head.writeUInt8(type & 0xff, 3);
  head.writeUInt8(flags & 0xff, 4);
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

function changeFrames(frames: Frame[], random: Random): void {
  const at = random.between(0, frames.length - 1);
  const one = frames[at];
  if (!one) return;
  const uint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value >>> 0);
    return bytes;
  };
  const put = (type: number, payload: Buffer, stream = random.pick([0, 1]), flags = 0, times = 1) =>
    void frames.splice(
      at,
      0,
      ...Array.from({ length: times }, (): Frame => ({ type, flags, stream, payload })),
    );
  switch (random.between(0, 14)) {
    case 0:
      one.type = random.between(0, 12);
      return;
    case 1:
      one.flags = random.between(0, 255);
      return;
    case 2:
      one.stream = random.pick([0, 1, 2, 3, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]);
      return;
    case 3:
      one.length = random.pick([
        0,
        1,
        one.payload.length - 1,
        one.payload.length + 1,
        16_384,
        16_385,
        2 ** 24 - 1,
      ]);
      return;
    case 4:
      // A repeated frame.
      frames.splice(random.between(0, frames.length), 0, { ...one });
      return;
    case 5:
      frames.splice(at, 1);
      return;
    case 6:
      frames.reverse();
      return;
    case 7:
      one.payload = Buffer.from(mutatedBytes(one.payload, random));
      return;
    case 8: {
      // SETTINGS with any values.
      const id = Buffer.alloc(2);
      id.writeUInt16BE(random.between(0, 9));
      put(4, Buffer.concat([id, uint32(random.pick([0, 1, 2 ** 14, 2 ** 24, 2 ** 31, 2 ** 32 - 1]))]), 0);
      return;
    }
    case 9:
      put(6, Buffer.alloc(random.pick([8, 8, 7, 0])), 0, random.pick([0, 1]), random.pick([1, 50, 500]));
      return;
    case 10:
      put(8, uint32(random.pick([0, 1, 2 ** 31 - 1, 2 ** 31])), random.pick([0, 1, 3]));
      return;
    case 11:
      put(3, uint32(random.between(0, 20)), random.pick([0, 1, 3, 5]));
      return;
    case 12:
      // HEADERS without END_HEADERS, so that CONTINUATION follows or is missing.
      if (one.type === 1) one.flags = 0;
      put(9, randomBytes(random.between(0, 50), random), 1, random.pick([0, 4]), random.pick([1, 20]));
      return;
    case 13:
      put(7, Buffer.concat([uint32(1), uint32(random.between(0, 13)), Buffer.alloc(20, 'x')]), 0);
      return;
    default: {
      // A DATA frame split into several frames of irregular lengths.
      const parts = pieces(one.payload, random).map((payload): Frame => ({ ...one, payload }));
      frames.splice(at, 1, ...parts);
    }
  }
}

/** Connection starts of other protocols. */
const starts: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (_, random) => randomBytes(random.between(1, 500), random),
  (bytes) => bytes.subarray(preface.length),
  () =>
    Buffer.from(
      'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
    ),
  () => Buffer.from('160301020001000001fc0303', 'hex'),
  (bytes) => Buffer.concat([Buffer.from('PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n'), bytes]),
  (bytes) => Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a21110007', 'hex'), bytes]),
  (bytes) => Buffer.concat([preface, bytes]),
];

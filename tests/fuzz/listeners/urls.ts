import { makeApk } from '@headset-cloud/demo/apk.ts';
import { RawHeadset } from '@headset-cloud/device-link/testing/raw-headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Random } from '../../faults/random.ts';
import { mutatedBytes } from './bytes.ts';
import { answered, exchange, head, type RawAnswer } from './http.ts';
import { authorizationOf } from './link.ts';
import { fuzz } from './listener.ts';
import { storedFiles } from './watch.ts';
import { expected, spares, type World } from './world.ts';

const name = 'com.example.fuzz';
const type = 'application/vnd.android.package-archive';
/** Age at which a URL is renewed; a URL is valid for an hour. Milliseconds. */
const renewedAfterMs = 1_800_000;

/**
 * Signed URLs of uploads and downloads, with a changed path, method, type, length, range or body. Requests that the
 * signature does not allow are rejected, a valid URL returns only bytes of its own file, and no file is stored.
 */
// protects against files/unsigned, files/url-changed, files/url-size, files/traversal
export const urls = fuzz('changed signed URLs return nothing and store nothing', {
  name: 'urls',
  atOnce: 4,
  missing: ({ stack }) => (stack.kind === 'real' ? 'S3 serves the files of this stack' : undefined),
  async open(world) {
    const { stack } = world;
    const apk = await makeApk({ package: name, versionName: '1' });
    const content = await makeApk({ package: name, versionName: '2' });
    const send = (
      method: string,
      path: string,
      headers: readonly (readonly [string, string])[],
      body: Buffer = Buffer.alloc(0),
    ) =>
      exchange(stack.filesUrl, [
        head(method, path, [['Host', 'a'], ['Connection', 'close'], ...headers]),
        body,
      ]);
    const put = async (path: string, body: Buffer) => {
      const { status } = await send(
        'PUT',
        path,
        [
          ['Content-Type', type],
          ['Content-Length', String(body.length)],
        ],
        body,
      );
      if (status !== 200) throw new Error(`a valid upload was answered with ${status}`);
    };
    await put(await uploadPath(world, '1', apk.length), apk);
    const addresses = async () => ({
      madeMs: performance.now(),
      upload: await uploadPath(world, '2', content.length),
      download: await downloadPath(world),
    });
    let current = await addresses();
    let renewing: Promise<void> | undefined;
    /** Returns URLs that stay valid for some time. */
    const valid = async () => {
      if (performance.now() - current.madeMs > renewedAfterMs) {
        renewing ??= addresses()
          .then((made) => {
            current = made;
          })
          .finally(() => {
            renewing = undefined;
          });
        await renewing;
      }
      return current;
    };
    const stored = storedFiles(stack.dataDir);
    return {
      async one(random) {
        const { upload, download } = await valid();
        const isUpload = random.chance(0.5);
        const right = isUpload ? upload : download;
        const path = random.chance(0.6) ? otherPath(right, isUpload ? download : upload, random) : right;
        const isRight = namesSame(path, right);
        const request = isUpload ? changedUpload(content, isRight, random) : changedDownload(random);
        const sent = [
          head(request.method, path, [['Host', 'a'], ['Connection', 'close'], ...request.headers]),
          request.body,
        ];
        const answer = await exchange(stack.filesUrl, sent, {
          end: !request.isIntact,
          ...(request.isIntact ? {} : { waitMs: 1500 }),
        });
        const { status = 0 } = answer;
        const isAccepted = status >= 200 && status < 300;
        const wrong = !isAccepted
          ? undefined
          : isUpload || !isRight
            ? `accepted with ${status}`
            : ownBytes(answer, apk, request.method);
        return {
          sent: Buffer.concat(sent),
          expectsAnswer: request.isIntact,
          ...answered(answer),
          ...(wrong && { wrong }),
        };
      },
      async atEnd() {
        const now = () => storedFiles(stack.dataDir).join();
        const same = await waitFor('nothing more to be stored', () => now() === stored.join(), {
          timeoutMs: 10_000,
        }).catch(() => false);
        const { upload, download } = await valid();
        await put(upload, content);
        const { body } = await send('GET', download, []);
        return [
          ...(same ? [] : [`files were stored: ${now()}`]),
          ...(body.equals(apk) ? [] : ['the valid download returns other bytes']),
        ];
      },
    };
  },
});

/** Requests an upload URL of the spare application and returns its path. */
async function uploadPath({ spare }: World, version: string, fileSize: number): Promise<string> {
  const { urlList } = await expected(spare.api, 201, 'POST', '/apps', { package: name, version, fileSize });
  return new URL(urlList[0].uploadUrl).pathname;
}

/** Requests the headset's download URL of the uploaded file and returns its path. */
async function downloadPath({ stack, spare }: World): Promise<string> {
  const device = spare.devices[spares.urls];
  if (!device) throw new Error('no device for downloads');
  await waitFor('the package to be deliverable', async () => {
    const { appVersions } = await expected(spare.api, 200, 'GET', `/apps?package=${name}`);
    return appVersions.length > 0;
  });
  await expected(spare.api, 201, 'PUT', `/devices/${device.deviceId}/apps`, { package: name, version: '1' });
  const headset = new RawHeadset(Number(stack.deviceLinkUrl.split(':')[1]), authorizationOf(device));
  try {
    headset.hello();
    const ticket = await waitFor('the offer', () => {
      for (const body of headset.received) {
        const kind = body.case === 'offer' ? body.value.operation?.kind : undefined;
        if (kind?.case === 'updateApp') return kind.value.artifact?.ticket;
      }
      return undefined;
    });
    headset.send({
      case: 'urlRequest',
      value: { requestId: 1n, about: { case: 'downloadTicket', value: ticket } },
    });
    const url = await waitFor('the address', () => {
      const found = headset.received.find((body) => body.case === 'urlAnswer');
      return found?.case === 'urlAnswer' ? found.value.url : undefined;
    });
    return new URL(url).pathname;
  } finally {
    headset.close();
  }
}

/** Whether the target is the valid path, its absolute form (RFC 9112 3.2.2), or a path with the same sealed bytes. */
function namesSame(target: string, right: string): boolean {
  const path = target.replace(/^https?:\/\/[^/?#]+/i, '');
  const bytes = (text: string) => Buffer.from(text.slice(text.lastIndexOf('/') + 1), 'base64url');
  return path.startsWith('/objects/') && /^[\w-]+$/.test(path.slice(9)) && bytes(path).equals(bytes(right));
}

function otherPath(right: string, other: string, random: Random): string {
  const token = right.slice('/objects/'.length);
  const sealed = Buffer.from(token, 'base64url');
  const path = random.pick([
    () =>
      mutatedBytes(Buffer.from(right), random)
        .toString('latin1')
        .replaceAll(/[^\x21-\x7e]/g, ''),
    () => `/objects/${mutatedBytes(sealed, random).toString('base64url')}`,
    () => `/objects/${mutatedBytes(sealed, random).toString('base64url')}`,
    () => `/objects/${sealed.toString('base64')}`,
    () =>
      `${right}${random.pick(['?a=1', '?', '#a', '/', '%00', '.', '?expires=9999999999', '&method=PUT', '='])}`,
    () => `/objects/${token.slice(0, token.length / 2)}${other.slice(other.length / 2)}`,
    () => other,
    () => `/${random.pick(['uploads', 'artifacts', 'partial', 'objects', '..', ''])}/${token}`,
    () =>
      random.pick([
        '/',
        '/objects/',
        '/objects/../secret.key',
        '/objects/%2e%2e%2fsecret.key',
        '//objects/',
        '/secret.key',
        '*',
      ]),
    () => `/objects/${'A'.repeat(random.pick([39, 40, 2000, 2001, 15_000]))}`,
    () => `/objects/${token.toLowerCase()}`,
    () => `http://127.0.0.1${right}`,
  ])();
  return path.startsWith('/') || path.startsWith('http') || path === '*' ? path : `/${path}`;
}

interface Request {
  readonly method: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  readonly isIntact: boolean;
}

/** Returns an invalid request. With the valid path, another part is wrong. */
function changedUpload(content: Buffer, isRight: boolean, random: Random): Request {
  const length = String(content.length);
  const own: Request = {
    method: 'PUT',
    headers: [
      ['Content-Type', type],
      ['Content-Length', length],
    ],
    body: content,
    isIntact: true,
  };
  if (!isRight) return own;
  const none = Buffer.alloc(0);
  const less = content.subarray(0, random.between(0, content.length - 1));
  return random.pick<Request>([
    { ...own, method: random.pick(['POST', 'PATCH', 'DELETE', 'OPTIONS']) },
    { ...own, method: random.pick(['GET', 'HEAD']), headers: [], body: none },
    {
      ...own,
      headers: [
        ['Content-Type', random.pick(['text/plain', '', `${type};a=b`, type.toUpperCase()])],
        ['Content-Length', length],
      ],
    },
    { ...own, headers: [['Content-Length', length]] },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Content-Length', String(less.length)],
      ],
      body: less,
    },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Content-Length', String(content.length + 1)],
      ],
      body: Buffer.concat([content, Buffer.of(0)]),
    },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Content-Length', `0${length}`],
      ],
      isIntact: false,
    },
    { ...own, body: less, isIntact: false },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Transfer-Encoding', 'chunked'],
      ],
      body: Buffer.concat([
        Buffer.from(`${content.length.toString(16)}\r\n`),
        content,
        Buffer.from('\r\n0\r\n\r\n'),
      ]),
    },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Content-Length', length],
        ['Transfer-Encoding', 'chunked'],
      ],
      isIntact: false,
    },
    {
      ...own,
      headers: [
        ['Content-Type', 'x/y'],
        ['Content-Length', length],
        ['Expect', '100-continue'],
      ],
    },
    {
      ...own,
      headers: [
        ['Content-Type', type],
        ['Content-Length', String(2 ** 53)],
      ],
      body: less,
      isIntact: false,
    },
  ]);
}

const ranges = [
  ...[
    'bytes=0-0',
    'bytes=0-',
    'bytes=-1',
    'bytes=-0',
    'bytes=-99999999',
    'bytes=5-2',
    'bytes=99999999-',
    'bytes=0-99999999',
  ],
  ...[
    'bytes=0-0,5-9',
    'bytes=',
    'bytes=a-b',
    'bytes=-',
    'lines=0-1',
    'bytes = 0-1',
    'bytes=0x0-0x5',
    'bytes=1e1-',
    'bytes=--1',
  ],
  ...[
    'bytes=9007199254740993-',
    'bytes=0-18446744073709551616',
    'bytes=+1-2',
    'bytes=0-1-2',
    `bytes=${'0-0,'.repeat(1000)}0-0`,
    'BYTES=1-2',
  ],
];

function changedDownload(random: Random): Request {
  const method = random.pick(['GET', 'GET', 'GET', 'GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS']);
  const range = random.chance(0.7)
    ? random.pick(ranges)
    : `bytes=${random.between(0, 2000)}-${random.between(0, 2000)}`;
  const more = random.pick<readonly (readonly [string, string])[]>([
    [],
    [],
    [['If-Range', random.pick(['"x"', '', 'W/"x"', 'Thu, 01 Jan 1970 00:00:00 GMT'])]],
    [['If-None-Match', '*']],
    [['Content-Length', '0']],
    [['X-HTTP-Method-Override', 'PUT']],
    [['Range', random.pick(ranges)]],
    [['Expect', '100-continue']],
  ]);
  return { method, headers: [['Range', range], ...more], body: Buffer.alloc(0), isIntact: true };
}

/** Returns the problem of an answer that contains the file or a part of it. */
function ownBytes({ status, headers, body }: RawAnswer, file: Buffer, method: string): string | undefined {
  if (method === 'HEAD') return body.length > 0 ? 'HEAD was answered with a body' : undefined;
  if (method !== 'GET') return `${method} was answered with ${status}`;
  if (status === 200) return body.equals(file) ? undefined : 'the whole file has other bytes';
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '');
  const [, from, to, size] = (range ?? []).map(Number);
  if (from === undefined || to === undefined || size !== file.length)
    return `no range: ${headers['content-range']}`;
  return body.equals(file.subarray(from, to + 1)) ? undefined : 'a part of the file has other bytes';
}

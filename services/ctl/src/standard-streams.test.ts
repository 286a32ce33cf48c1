import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { createAdminServer } from '@headset-cloud/process/admin-server.ts';
import {
  ArtifactKind,
  ArtifactState,
  UpdatesAdminService,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { bind } from '@headset-cloud/rpc/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { type Listener, openListener, thumbprint } from './testing/listener.ts';
import { run } from './testing/run.ts';

/** Files on standard input and output, for the operators' pod, whose root file system is read-only. */

const imei = '356938035643809';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function opened(options: Parameters<typeof openListener>[0] = {}): Promise<Listener> {
  const listener = await openListener(options);
  stops.push(() => listener.close());
  return listener;
}

function ctl(url: string, input: string | Readable, ...args: string[]) {
  return run(args, { ADMIN_URL: url }, { input: input === '' ? Readable.from([]) : input });
}

/** ctl in a separate process. */
function spawned(url: string, args: readonly string[], stdout: 'pipe' | number = 'pipe'): ChildProcess {
  return spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'main.ts'), ...args],
    { env: { PATH: process.env['PATH'] ?? '', ADMIN_URL: url }, stdio: ['pipe', stdout, 'pipe'] },
  );
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));

describe('text from standard input', () => {
  test('a public key, IMEIs and the secret of webhooks', async () => {
    const listener = await opened({ keyIdOf: () => 'k1' });
    expect(await ctl(listener.url, 'a PEM\n', 'headset-keys', 'add', imei, '-')).toMatchObject({ code: 0 });
    expect(listener.keys.get(imei)).toBe('a PEM\n');
    const put = ['contracts', 'put', 'app', '--limit', '2', '--add-file', '-'];
    expect(await ctl(listener.url, `${imei}\n356938035643817\n`, ...put)).toMatchObject({ code: 0 });
    expect(listener.contractCalls.map((call) => call.addDeviceIds)).toEqual([[imei, '356938035643817']]);
    const endpoint = ['sora', 'endpoints', 'put', 'one', '--signaling-url', 'wss://sora.example.com'];
    const secret = ['--sora-version', '2024.1.0', '--limit', '5', '--secret-file', '-'];
    expect(await ctl(listener.url, 'a-secret\n', ...endpoint, ...secret)).toMatchObject({ code: 0 });
    expect(listener.endpoints[0]?.webhookSecret).toBe('a-secret');
  });

  test('the admin token, also for a command of several calls', async () => {
    const listener = await opened({ token: 'the-right-token', dead: ['n1', 'n2'] });
    const command = ['--token-file', '-', 'deliveries', 'redeliver', '--dead-of', 'app'];
    expect(await ctl(listener.url, 'the-right-token\n', ...command)).toMatchObject({ code: 0 });
    expect(listener.redelivered).toEqual(['n1', 'n2']);
  });

  test('that is empty is reported, with a possible cause', async () => {
    const listener = await opened({ keyIdOf: () => 'k1' });
    expect(await ctl(listener.url, '', 'headset-keys', 'add', imei, '-')).toEqual({
      code: 2,
      out: '',
      err: 'The public key cannot be read: standard input is empty. kubectl exec passes it on with -i only.\n',
    });
    expect(listener.keys.size).toBe(0);
  });

  test('can be used by only one option', async () => {
    const listener = await opened({ token: 'the-right-token', keyIdOf: () => 'k1' });
    const { code, err } = await ctl(
      ...([
        listener.url,
        'the-right-token\n',
        '--token-file',
        '-',
        'headset-keys',
        'add',
        imei,
        '-',
      ] as const),
    );
    expect([code, err]).toEqual([2, expect.stringMatching(/^Standard input cannot be both .* and .*\n$/)]);
  });
});

describe('a generated key on standard output', () => {
  test('is the only output; all messages go to standard error', async () => {
    const listener = await opened({ keyIdOf: thumbprint });
    const { code, out, err } = await ctl(listener.url, '', 'headset-keys', 'generate', imei, '--out', '-');
    expect(code).toBe(0);
    const file = JSON.parse(out);
    expect(file).toEqual({ deviceId: imei, keyId: expect.any(String), privateKeyPem: expect.any(String) });
    expect(listener.keys.has(imei)).toBe(true);
    expect(err).toContain(file.keyId);
    expect(err).not.toContain('PRIVATE');
  });

  test('is reported as not registered when the registration failed', async () => {
    const listener = await opened();
    const { code, err } = await ctl(listener.url, '', 'headset-keys', 'generate', imei, '--out', '-');
    expect(code).toBe(1);
    expect(err).toContain('The thing does not exist.');
    expect(err).toContain('The key that was written is not registered. Delete it.');
  });

  test('is not registered when standard output is closed', async () => {
    const listener = await opened({ keyIdOf: thumbprint });
    const child = spawned(listener.url, ['headset-keys', 'generate', imei, '--out', '-']);
    child.stdout?.destroy();
    const err = textOf(child.stderr as Readable);
    expect(await ended(child)).toBe(1);
    expect(await err).toBe(
      'Standard output was closed before the key was written to it. The key is not registered.\n',
    );
    expect(listener.keys.size).toBe(0);
  });
});

test('a reader that closes the output, as head does, ends ctl silently with exit code 0', async () => {
  const listener = await opened();
  const child = spawned(listener.url, ['devices', 'list', '--limit', '1000']);
  child.stdout?.destroy();
  const err = textOf(child.stderr as Readable);
  expect(await ended(child)).toBe(0);
  expect(await err).toBe('');
});

test('a failure of the command shows in the exit code although the reader has closed the output', async () => {
  const listener = await opened({ dead: ['n1', 'n2'], refused: { n1: 'conflict' } });
  const child = spawned(listener.url, ['--json', 'deliveries', 'redeliver', '--dead-of', 'app']);
  child.stdout?.destroy();
  const err = textOf(child.stderr as Readable);
  expect(await ended(child)).toBe(1);
  expect(await err).toBe('n1: Not now.\n1 sent again, 1 failed.\n');
});

// A Linux device that behaves like a file on a full disk.
const itOnLinux = existsSync('/dev/full') ? it : it.skip;
itOnLinux('output that cannot be written is an error', async () => {
  const listener = await opened();
  const full = openSync('/dev/full', 'w');
  try {
    const child = spawned(listener.url, ['devices', 'list', '--limit', '1000'], full);
    const err = textOf(child.stderr as Readable);
    expect(await ended(child)).toBe(1);
    expect(await err).toBe('Not everything could be written to standard output (ENOSPC).\n');
  } finally {
    closeSync(full);
  }
});

describe('a firmware from standard input', () => {
  const content = 'a firmware of the vendor';
  const put = (url: string, input: string | Readable, ...more: string[]) =>
    ctl(url, input, 'firmware', 'put', 'com.vendor.fw', '2.0', '-', ...more);

  test('is streamed, with the given length and hash', async () => {
    const updates = await openUpdates();
    const size = ['--size', String(content.length)];
    expect(await put(updates.url, content, ...size, '--sha256', sha256(content))).toMatchObject({
      ...{ code: 0, err: '' },
    });
    expect(
      await put(updates.url, Readable.from([...content].map((c) => Buffer.from(c))), ...size),
    ).toMatchObject({ code: 0, err: '' });
    expect(updates.stored).toEqual([content, content]);
  });

  test('needs its length', async () => {
    const updates = await openUpdates();
    expect(await put(updates.url, content)).toEqual({
      ...{ code: 2, out: '' },
      err: 'The length of standard input is unknown: give --size, such as --size $(wc -c < FILE).\n',
    });
    expect(await put(updates.url, content, '--size', '5', '--sha256', 'abc')).toMatchObject({ code: 2 });
  });

  test.each([
    ['ends early', content.slice(0, 9), `The firmware ended after 9 of ${content.length} bytes`],
    ['continues', `${content}!`, `The firmware has more than ${content.length} bytes`],
    ['differs', content.toUpperCase(), 'The firmware has a different SHA-256'],
  ])('that %s is not stored', async (_, input, message) => {
    const updates = await openUpdates();
    for (const given of [input, Readable.from([...input].map((c) => Buffer.from(c)))]) {
      const { code, out, err } = await put(
        ...([updates.url, given, '--size', String(content.length), '--sha256', sha256(content)] as const),
      );
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain(message);
      expect(err).toMatch(/Nothing was stored\.\n$/);
    }
    expect(updates.stored).toEqual([]);
  });

  test('that breaks off is reported and not stored', async () => {
    const updates = await openUpdates();
    const broken = Readable.from(
      (function* () {
        yield Buffer.from(content.slice(0, 5));
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      })(),
    );
    const { code, err } = await put(updates.url, broken, '--size', String(content.length));
    expect([code, err]).toEqual([1, 'The firmware cannot be read: read ECONNRESET. Nothing was stored.\n']);
    expect(updates.stored).toEqual([]);
  });

  test('that the storage rejects, or cannot store, is reported', async () => {
    const refusing = await openUpdates(undefined, 'refuses');
    const size = 8 * 1024 * 1024;
    const many = () => Readable.from(Array.from({ length: 128 }, () => Buffer.alloc(size / 128)));
    expect(await put(refusing.url, many(), '--size', String(size))).toEqual({
      ...{ code: 1, out: '', err: 'The upload was rejected (403): Too old.\n' },
    });
    const away = await openUpdates(undefined, 'away');
    const { code, err } = await put(away.url, many(), '--size', String(size));
    expect([code, err]).toEqual([3, expect.stringMatching(/^The upload to http:\S+ failed: .*ECONNREFUSED/)]);
  });

  test('whose version exists with different content is rejected', async () => {
    const updates = await openUpdates(content);
    expect(await put(updates.url, content, '--size', '24', '--sha256', sha256(content))).toMatchObject({
      code: 0,
    });
    const other = await put(updates.url, 'other', '--size', '5', '--sha256', sha256('other'));
    expect([other.code, other.err]).toEqual([
      1,
      `The version 2.0 exists with different content (SHA-256 ${sha256(content)}). It is not overwritten: choose another version.\n`,
    ]);
  });
});

/** The listeners of updates: its calls, and a storage that stores content of the declared length. */
async function openUpdates(there?: string, storing?: 'refuses' | 'away') {
  const stored: string[] = [];
  const storage: Server = createServer(async (request, response) => {
    if (storing === 'refuses') {
      response.writeHead(403, { connection: 'close' }).end('Too old.');
      return;
    }
    try {
      const body = await textOf(request);
      stored.push(body);
      response.end();
    } catch {
      // Cut off.
    }
  });
  await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
  const uploadUrl = `http://127.0.0.1:${(storage.address() as AddressInfo).port}/objects/x`;
  if (storing === 'away') await new Promise((resolve) => storage.close(resolve));
  const artifact = (content = there ?? stored.at(-1)) => ({
    ...{ kind: ArtifactKind.FIRMWARE, package: 'com.vendor.fw', version: '2.0' },
    state: content === undefined ? ArtifactState.UPLOADING : ArtifactState.DELIVERABLE,
    sha256: content === undefined ? '' : sha256(content),
  });
  const listener = createAdminServer({
    service: 'updates',
    listen: { host: '127.0.0.1', port: 0 },
    token: undefined,
    bindings: [
      bind(UpdatesAdminService, {
        putFirmware: async () => ({ artifact: artifact(), uploadUrl: there === undefined ? uploadUrl : '' }),
        withdrawArtifact: async () => ({}),
        listArtifacts: async () => ({ artifacts: [artifact()] }),
      }),
    ],
    metrics: new Registry(),
    notReady: () => [],
    logger: createLogger({ service: 'test', level: 'silent' }),
  });
  await listener.start();
  stops.push(async () => {
    await listener.stop();
    storage.closeAllConnections();
    await new Promise((resolve) => storage.close(resolve));
  });
  return { url: `http://127.0.0.1:${listener.port()}`, stored };
}

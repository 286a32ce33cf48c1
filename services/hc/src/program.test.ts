import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Cloud, type Given, openCloud } from './testing/cloud.ts';
import { run } from './testing/run.ts';

/** Color, line break, C1 start of a control sequence, bidirectional mark, line separator, an invisible tag. */
const foreign = '\u001b[31mred\r\nfalse  line\u009b2J\u202eabc\u2028\u{e0041}';
const visible = String.raw`\u001b[31mred\u000d\u000afalse  line\u009b2J\u202eabc\u2028\udb40\udc41`;
const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

let cloud: Cloud;
afterEach(() => cloud?.close());

const answering = async (answer: (call: string) => Given) => {
  cloud = await openCloud(answer);
};

const imei = '356938035643809';
const delivery = {
  ...{
    webhookId: 'n-1',
    type: 'notify-boot',
    destination: 'deviceEvent',
    deviceId: imei,
    transactionId: null,
  },
  ...{ state: 'dead', attemptCount: 1, createdAt: '2026-01-01T00:00:00.000Z', nextAttemptAt: null },
  endedAt: '2026-01-01T00:00:01.000Z',
  lastAttempt: {
    at: '',
    durationMs: 1,
    status: 410,
    reason: 'gone',
    message: 'It is gone.',
    host: 'h',
    answer: foreign,
  },
};
const event = (n: number) => ({
  ...{ webhookId: `n-${n}`, type: 'notify-boot', destination: 'deviceEvent', deviceId: null },
  ...{ createdAt: `2026-01-01T00:00:0${n}.000Z`, body: `{"n":${n}}` },
});

// protects against hc/terminal
describe('control characters in texts from others are escaped', () => {
  test('in tables: every row is one line', async () => {
    await answering(() => ({ body: { deliveries: [{ ...delivery, webhookId: foreign }], cursor: foreign } }));
    const { out } = await run('deliveries list --limit 1', cloud.env);
    expect(out.split('\n').slice(1)).toEqual([
      expect.stringContaining(`${visible}  dead `),
      `More: --after ${visible}`,
      '',
    ]);
  });

  test('in single values, attempts and bodies', async () => {
    const attempts = [delivery.lastAttempt];
    await answering(() => ({ body: { ...delivery, type: foreign, attempts, body: foreign } }));
    const { out } = await run('deliveries show n-1', cloud.env);
    expect(out).toContain(`type          ${visible}\n`);
    expect(out).toMatch(new RegExp(`\\n\\n${visible.replaceAll(/[\\[]/g, '\\$&')}\\n$`));
    expect(out).not.toMatch(hidden);
  });

  test('in the lines of a stream', async () => {
    await answering(() => ({ body: { events: [{ ...event(1), body: foreign }], cursor: 'c', more: false } }));
    const { out } = await run('events', cloud.env);
    expect(out).toBe(`2026-01-01T00:00:01.000Z  notify-boot  -  n-1  ${visible}\n`);
  });

  test('in an error of the API', async () => {
    await answering(() => ({ status: 404, body: { message: `No ${foreign}.` } }));
    expect((await run('deliveries show x', cloud.env)).err).toBe(`No ${visible}. (404, request r-1)\n`);
  });

  test('JSON contains the unchanged values', async () => {
    await answering(() => ({ body: { ...delivery, attempts: [], body: foreign } }));
    const { out } = await run('--json deliveries show n-1', cloud.env);
    expect(JSON.parse(out).body).toBe(foreign);
    expect(out).not.toMatch(hidden);
  });
});

describe('a small terminal', () => {
  test('gets the complete fields of each row below each other', async () => {
    await answering(() => ({
      body: { deliveries: [delivery, { ...delivery, webhookId: 'n-2' }], cursor: null },
    }));
    const { out } = await run('deliveries list', cloud.env, { columns: 40 });
    expect(out).toContain('webhook-id   n-1\nstate        dead\ntype         notify-boot\n');
    expect(out).toContain('\n\nwebhook-id   n-2\n');
    const wide = await run('deliveries list', cloud.env, { columns: 200 });
    expect(wide.out.split('\n')).toHaveLength(4);
  });

  test('gets help that fits, with the options of hc', async () => {
    const { code, out } = await run('deliveries --help', {}, { columns: 60 });
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => line.length > 60)).toEqual([]);
    expect(out).toMatch(/Global Options:\n(.*\n)* +--profile <name> /);
  });
});

describe('events', () => {
  const feed = (call: string): Given => {
    const query = new URLSearchParams(call.split('?')[1]);
    const from = Number(query.get('after') ?? 0);
    // A page may be shorter than requested.
    const events = [1, 2, 3, 4, 5].slice(from, from + Math.min(2, Number(query.get('limit')))).map(event);
    return { body: { events, cursor: String(from + events.length), more: from + events.length < 5 } };
  };

  test('are read over several pages, up to the limit, with the cursor to continue', async () => {
    await answering(feed);
    const { out } = await run('events --limit 3', cloud.env);
    expect(out.split('\n').map((line) => line.split('  ')[3] ?? line)).toEqual([
      'n-1',
      'n-2',
      'n-3',
      'More: --after 3',
      '',
    ]);
    const rest = JSON.parse((await run('events --after 3 --json', cloud.env)).out);
    expect(rest).toEqual({ events: [event(4), event(5)], cursor: '5', more: false });
  });

  test.each(['--since', '--from'])('are shown from a given time: %s', async (option) => {
    await answering(feed);
    const { out } = await run(`events ${option} 2026-01-01T00:00:04Z --json`, cloud.env);
    expect(JSON.parse(out).events).toEqual([event(4), event(5)]);
  });

  test('are followed as one line of JSON each, until Ctrl-C', async () => {
    await answering(feed);
    let interrupt = () => {};
    const { code, out } = await run('--json events --follow --since oldest --types notify-boot', cloud.env, {
      onInterrupt: (then) => {
        interrupt = then;
        return () => {};
      },
      onOut: (seen) => {
        if (seen.split('\n').length === 6) interrupt();
      },
    });
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([1, 2, 3, 4, 5].map(event));
    expect(cloud.asked.at(-1)?.url).toContain('types=notify-boot');
  });

  test.each([
    ['events --since yesterday'],
    ['events --since 2026-01-01T00:00:04'],
    ['events --device 12'],
    ['events --limit 0'],
    ['events --limit 1001'],
    ['events --after x --since now'],
    ['events --after x --from now'],
    ['nothing'],
  ])('%s is reported as a wrong command line', async (line) => {
    await answering(feed);
    const { code, out, err } = await run(line, cloud.env);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: .*\n.*\(add --help/s);
  });
});

describe('deliveries', () => {
  test('are sent again one by one, each with a separate call', async () => {
    await answering((call) => ({ body: { ...delivery, webhookId: call.split('/')[2], state: 'pending' } }));
    const { code, out } = await run('--json deliveries redeliver n-1 n-2 --force', cloud.env);
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).webhookId),
    ).toEqual(['n-1', 'n-2']);
    const calls = cloud.asked.filter(({ method, url }) => method === 'POST' && url !== '/token');
    expect(calls.map(({ body }) => body)).toEqual(['{"force":true}', '{"force":true}']);
    expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
    const keyed = await run('deliveries redeliver n-1 n-2 --idempotency-key k', cloud.env);
    expect(keyed.code).toBe(2);
  });

  test('are sent again although one is rejected, and the exit code is 1', async () => {
    await answering((call) =>
      call.includes('/n-1/')
        ? { status: 409, body: { message: 'It is pending.' } }
        : { body: { ...delivery, webhookId: call.split('/')[2], state: 'pending' } },
    );
    const { code, out, err } = await run('deliveries redeliver n-1 n-2', cloud.env);
    expect(code).toBe(1);
    expect(out).toContain('n-2');
    expect(err).toMatch(/^n-1: .*It is pending\..*\n1 sent again, 1 failed\.\n$/s);
  });

  test('are recovered, with the progress until the end', async () => {
    let done = 0;
    const recovery = () => ({
      ...{ recoveryId: 'r-1', state: done < 4 ? 'running' : 'ended', total: 4, done },
      ...{ beganAt: '2026-01-01T00:00:00.000Z', endedAt: null },
    });
    await answering((call) => {
      if (call.startsWith('POST')) return { body: { count: 4, recovery: recovery() } };
      done += 2;
      return { body: recovery() };
    });
    const { code, out } = await run(
      'deliveries recover --since 2026-01-01 --types notify-boot,notify-location',
      cloud.env,
    );
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.split(/[,;]/)[0])).toEqual([
      ...['r-1  0 of 4 resent', 'r-1  2 of 4 resent', 'r-1  4 of 4 resent', ''],
    ]);
    const [begun] = cloud.asked.filter(({ method, url }) => method === 'POST' && url !== '/token');
    expect(JSON.parse(begun?.body ?? '')).toEqual({
      since: '2026-01-01T00:00:00.000Z',
      types: ['notify-boot', 'notify-location'],
    });
  });

  test('are only counted by --dry-run', async () => {
    await answering(() => ({ body: { count: 7, recovery: null } }));
    const { out } = await run('deliveries recover --since 1h --dry-run', cloud.env);
    expect(out).toBe('7 deliveries would be sent again.\n');
    expect(JSON.parse(cloud.asked.at(-1)?.body ?? '').dryRun).toBe(true);
  });
});

test.each([
  ...['deliveries list --types ', 'deliveries recover --since 1h --types ', 'events --after '],
  ...[
    'devices --client-version ',
    '--application  deliveries list',
    'deliveries redeliver n-1 --idempotency-key ',
  ],
])('an option with the value of an unset shell variable is rejected: hc %s', async (line) => {
  await answering(() => ({ body: { deliveries: [], events: [], devices: [], cursor: null } }));
  const { code, out, err } = await run(line, cloud.env);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: the value of option '--[a-z-]+ <\w+>' is empty\n/);
  expect(cloud.asked).toEqual([]);
});

describe('trigger', () => {
  const types = [
    { type: 'notify-boot', destination: 'deviceEvent', summary: 'Boot', examples: [{ name: 'started' }] },
  ];
  const received = {
    durationMs: 5,
    statusCode: 204,
    reason: null,
    tls: null,
    answer: '',
    answerTruncated: false,
  };
  const result = {
    ...{
      webhookId: 'test-1',
      type: 'notify-boot',
      destination: 'deviceEvent',
      host: 'h',
      body: {},
      verification: null,
    },
    ...received,
  };
  const cases: readonly [string, object, number, RegExp][] = [
    ['that is accepted ends with 0', result, 0, /^$/],
    [
      'that is not accepted ends with 1',
      { ...result, statusCode: null, reason: 'The host name cannot be resolved.' },
      1,
      /not accepted: The host name cannot be resolved\.\n$/,
    ],
    [
      'whose wrong signature is rejected ends with 0',
      { ...result, verification: { ...received, statusCode: 401, refused: true } },
      0,
      /^$/,
    ],
    [
      'whose wrong signature is accepted ends with 1',
      { ...result, verification: { ...received, refused: false } },
      1,
      /it does not verify/,
    ],
  ];
  test.each(cases)('%s', async (_, answer, code, err) => {
    await answering((call) => ({ body: call.startsWith('GET') ? { eventTypes: types } : answer }));
    const ended = await run('trigger notify-boot --verify', cloud.env);
    expect([ended.code, ended.err]).toEqual([code, expect.stringMatching(err)]);
    expect(JSON.parse(cloud.asked.at(-1)?.body ?? '')).toEqual({
      ...{ type: 'notify-boot', destination: 'deviceEvent', verify: true },
    });
  });

  test('of an unknown type lists similar types; without a type all types are listed', async () => {
    await answering(() => ({ body: { eventTypes: types } }));
    const { code, err } = await run('trigger boot', cloud.env);
    expect([code, err]).toEqual([2, 'There is no type boot. Did you mean notify-boot?\n']);
    expect((await run('trigger', cloud.env)).out).toContain('notify-boot  deviceEvent  started   Boot\n');
  });
});

describe('devices', () => {
  test('are listed over several pages with filters', async () => {
    const status = {
      ...{ deviceId: imei, power: 'started', wearing: null, network: 'connectivity_offline' },
      ...{ charging: null, batteryPercentage: 18, firmware: null, clientVersion: '2.3.1', activatedAt: null },
    };
    await answering((call) => ({
      body: { devices: [status], cursor: call.includes('cursor=') ? null : 'c' },
    }));
    const line =
      'devices --network offline --battery-below 20 --client-version 2.3.1 --activated-since 2026-01-01T00:00:00Z';
    const { out } = await run(line, cloud.env);
    expect(out.split('\n')).toHaveLength(4);
    expect(out).toContain(`${imei}  offline  started  -        18 %`);
    expect(cloud.asked.at(-1)?.url.split('?')[1]).toBe(
      'cursor=c&limit=99&network=connectivity_offline&batteryBelow=20&clientVersion=2.3.1&activatedSince=2026-01-01T00%3A00%3A00.000Z',
    );
  });
});

describe('transactions', () => {
  const transaction = {
    ...{ transactionId: 3, deviceId: imei, operationId: 'put-v1-applications-devices-commands' },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:01.000Z' },
  };
  const cases: readonly [end: string, body: object, code: number, shown: string][] = [
    ['processed', { result: 'success', message: 'done' }, 0, 'success: done'],
    ['processed', { result: 'failure', message: foreign }, 1, `failure: ${visible}`],
    ['processed', { statusCode: 200 }, 0, 'success'],
    ['processed', { statusCode: 403, message: 'no' }, 1, 'failure (403): no'],
    ['canceled', { result: 'failure', message: 'canceled' }, 1, 'failure: canceled'],
  ];
  test.each(cases)('are watched until their end: %s with %j ends with %i', async (end, body, code, shown) => {
    const states = ['published', 'accepted', 'accepted', end];
    await answering((call) =>
      call.includes('/transactions/')
        ? { body: { ...transaction, transactionStatus: states.length > 1 ? states.shift() : end } }
        : { body: { body: JSON.stringify(body) } },
    );
    const ended = await run('transactions watch 3', cloud.env);
    expect(ended.code).toBe(code);
    expect(
      ended.out
        .split('\n')
        .map((line) => line.split('  ').slice(-1)[0] ?? '')
        .slice(0, 3),
    ).toEqual(['published', 'accepted', end]);
    expect(ended.out).toContain(`\n${shown}\n`);
    expect(cloud.asked.at(-1)?.url).toMatch(new RegExp(`/deliveries/tx-3-${end}$`));
  });

  test.each(['the callback is missing', 'the call for the callback hangs'])(
    'end with 130 at Ctrl-C during the wait for the callback: %s',
    async (trouble) => {
      cloud = await openCloud((call) => {
        if (call.includes('/transactions/'))
          return { body: { ...transaction, transactionStatus: 'processed' } };
        return trouble.includes('hangs') ? undefined : { status: 404, body: { message: 'none' } };
      });
      let interrupt = () => {};
      const ended = run('transactions watch 3', cloud.env, {
        onInterrupt: (then) => {
          interrupt = then;
          return () => {};
        },
      });
      await waitFor('the wait', () => cloud.asked.some(({ url }) => url.includes('/deliveries/')));
      interrupt();
      const { code, err } = await ended;
      expect([code, err]).toEqual([
        130,
        'Transaction 3 has ended. Its callback is not available yet: hc deliveries list --transaction 3\n',
      ]);
    },
  );

  test('are listed newest first, over pages', async () => {
    const many = Array.from({ length: 150 }, (_, i) => ({
      ...transaction,
      transactionId: 150 - i,
      transactionStatus: 'processed',
    }));
    await answering((call) => {
      const page = Number(new URLSearchParams(call.split('?')[1]).get('page'));
      return {
        body: { transactions: many.slice((page - 1) * 100, page * 100), parameters: { isNext: page === 1 } },
      };
    });
    const { out } = await run('--json transactions list --limit 120 --status completed', cloud.env);
    expect(JSON.parse(out).transactions.map((t: { transactionId: number }) => t.transactionId)).toEqual(
      Array.from({ length: 120 }, (_, i) => 150 - i),
    );
    expect(cloud.asked.at(-1)?.url).toContain('completionStatus=completed&order=desc&perPage=100&page=2');
  });
});

describe('verify', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hc-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const stored = (key: string, ageSeconds = 0) => {
    const body = '{"a":1}';
    const timestampSeconds = Math.floor(Date.now() / 1000) - ageSeconds;
    const headers = signatureHeaders({
      notificationId: 'n-1',
      authenticationKey: key,
      body: Buffer.from(body),
      timestampSeconds,
    });
    const file = join(folder, 'callback.json');
    writeFileSync(file, JSON.stringify({ headers, body }));
    return file;
  };
  const settings = (call: string): Given =>
    call === 'GET '
      ? { body: { authenticationKey: 'the key' } }
      : { body: { ...delivery, body: '{"a":1}', attempts: [] } };

  test('checks with the key of the application and the time of the file', async () => {
    await answering(settings);
    const file = stored('the key', 3600);
    const writtenSeconds = ago(3_590_000) / 1000;
    utimesSync(file, writtenSeconds, writtenSeconds);
    const { code, out } = await run(['verify', file], cloud.env);
    expect(code).toBe(0);
    expect(out).toContain("X-TLPF-NOTIFICATION-KEY  correct, with the application's key\n");
    expect(out).toContain("webhook-signature        correct, with the application's key\n");
    expect(out).not.toContain('the key\n');
    const late = await run(['verify', file, '--received', '0s'], cloud.env);
    expect([late.code, late.err]).toEqual([1, expect.stringMatching(/^It was signed 60 min before/)]);
  });

  test('detects another key with the body from the cloud', async () => {
    await answering(settings);
    const { code, err, out } = await run(['--json', 'verify', stored('another')], cloud.env);
    expect([code, err]).toEqual([1, expect.stringMatching(/^The body is unchanged, so the key differs/)]);
    expect(JSON.parse(out)).toMatchObject({
      webhookId: 'n-1',
      signatures: [{ isRight: false }, { isRight: false }],
    });
  });

  test('reads a file with a byte-order mark, and names UTF-16', async () => {
    await answering(settings);
    const file = stored('the key');
    const json = readFileSync(file, 'utf8');
    const { headers, body } = JSON.parse(json) as { headers: Record<string, string>; body: string };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    for (const text of [json, `${lines.join('')}\r\n${body}`]) {
      writeFileSync(file, `\uFEFF${text}`);
      expect(await run(['verify', file], cloud.env)).toMatchObject({ code: 0, err: '' });
      writeFileSync(file, `\uFEFF${text}`, 'utf16le');
      expect(await run(['verify', file], cloud.env)).toMatchObject({
        ...{ code: 2, err: 'The callback cannot be read: it is UTF-16. Save it as UTF-8\n' },
      });
    }
  });

  test('works without a login, with a key of a file', async () => {
    await answering(settings);
    const key = join(folder, 'key');
    writeFileSync(key, 'my-key\n');
    expect((await run(['verify', stored('my-key'), '--key', key], {})).code).toBe(0);
    expect((await run(['verify', stored('my-key'), '--key', '-'], {}, { input: 'my-key' })).code).toBe(0);
    expect(await run(['verify', stored('my-key')], {})).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('No key to verify with') },
    });
    expect(await run(['verify', join(folder, 'none'), '--key', key], {})).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('The callback cannot be read') },
    });
  });
});

test.each([['events --follow --since oldest'], ['deliveries list']])(
  'a reader that has closed the output, as head does, ends hc %s silently with exit code 0',
  async (line) => {
    await answering(() => ({ body: { events: [event(1)], deliveries: [], cursor: 'c', more: true } }));
    if (line === 'deliveries list') {
      await cloud.close();
      await answering(() => ({ body: { deliveries: [delivery], cursor: null } }));
    }
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'main.ts'), ...line.split(' ')],
      { env: { PATH: process.env['PATH'] ?? '', ...cloud.env }, stdio: 'pipe' },
    );
    child.stdout.destroy();
    const err = textOf(child.stderr as Readable);
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(await err).toBe('');
  },
);

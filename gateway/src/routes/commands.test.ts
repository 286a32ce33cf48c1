import { createHash } from 'node:crypto';
import { ExtraType, LaunchType } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { SendOperationRequest } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { describe, expect, test } from '@jest/globals';
import { parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = `/v1/applications/app-1/devices/${deviceId}/commands`;
const put = (body: string | Uint8Array, headers = {}) =>
  suite.gateway.request('PUT', path, { body, headers });
const sent = () =>
  suite.gateway.fakes.seen.find((s) => s.rpc === 'sendOperation')?.request as
    | SendOperationRequest
    | undefined;
const command = () => {
  const kind = sent()?.operation?.kind;
  return kind?.case === 'command' ? kind.value : undefined;
};
const withExtras = (extras: string) => `{"launchType":"service","action":"a","extras":${extras}}`;

// proves api/3/command, api/7/commands, api/7/changing
test('the devices service gets the complete command, and the answer contains its transaction', async () => {
  const answer = await put(
    '{"package":"p","classpath":"c","action":"a","launchType":"foregroundservice","extras":{"n":1}}',
  );
  expect(answer.status).toBe(201);
  expect(answer.text).toBe('{"transactionId":9007199254740991}');
  expect(answer.headers['location']).toBe('/v1/applications/app-1/transactions/9007199254740991');
  expect(sent()?.caller?.idempotency).toBeUndefined();
  expect(sent()).toMatchObject({
    caller: { clientId: 'client-1', applicationId: 'app-1' },
    deviceId,
    operationId: 'put-v1-applications-devices-commands',
    operation: {
      kind: {
        case: 'command',
        value: {
          package: 'p',
          classpath: 'c',
          action: 'a',
          launchType: LaunchType.FOREGROUNDSERVICE,
          extrasJson: '{"n":1}',
          extraTypes: { n: ExtraType.INTEGER },
        },
      },
    },
  });
});

// protects against rest/header-injection
test('Location escapes the application id', async () => {
  const answer = await suite.gateway.request('PUT', path.replace('app-1', encodeURIComponent('アプリ')), {
    body: '{"launchType":"activity"}',
  });
  expect(answer.headers['location']).toBe(
    `/v1/applications/${encodeURIComponent('アプリ')}/transactions/9007199254740991`,
  );
});

test('a command without a target is accepted: its failure is a callback (rule A8)', async () => {
  expect((await put('{"launchType":"broadcast"}')).status).toBe(201);
  expect(command()).toMatchObject({ package: '', classpath: '', action: '', extrasJson: '' });
});

describe('limits at their edge', () => {
  // proves api/5/command-package, api/5/command-classpath, api/5/command-action
  test.each([
    ['package', 128],
    ['classpath', 256],
    ['action', 128],
  ])('%s has 1 to %i characters', async (name, limit) => {
    const body = (value: unknown) => JSON.stringify({ launchType: 'activity', [name]: value });
    expect((await put(body('x'.repeat(limit)))).status).toBe(201);
    expect((await put(body('😀'.repeat(limit)))).status).toBe(201);
    for (const wrong of ['', 'x'.repeat(limit + 1), null, 1, ['x']]) {
      const answer = await put(body(wrong));
      expect(answer.status).toBe(400);
      expect(answer.text).toBe('{"message":"Invalid request body"}');
      expect(answer.headers['x-error-detail']).toMatch(new RegExp(`^/${name} `));
    }
  });

  // proves api/5/extras-limit
  test('extras have at most 4096 bytes of UTF-8 without insignificant white space', async () => {
    const fill = (bytes: number) => `{ "k" :\n "${'あ'.repeat(10)}${'x'.repeat(bytes - 38)}" }`;
    expect((await put(withExtras(fill(4096)))).status).toBe(201);
    expect(Buffer.byteLength(command()?.extrasJson ?? '')).toBe(4096);
    const answer = await put(withExtras(fill(4097)));
    expect([answer.status, answer.headers['x-error-detail']]).toEqual([
      400,
      '/extras is longer than 4096 bytes.',
    ]);
  });

  // proves api/3/command-launchType
  test.each(['activity', 'service', 'foregroundservice', 'broadcast'])(
    'launchType %s is known',
    async (type) => {
      expect((await put(`{"launchType":"${type}"}`)).status).toBe(201);
    },
  );

  test('a body of exactly the limit is read, one byte more is 413', async () => {
    const body = (size: number) => `{"launchType":"activity"${' '.repeat(size - 25)}}`;
    expect((await put(body(65_536))).status).toBe(201);
    expect((await put(body(65_537))).status).toBe(413);
    const chunked = `PUT ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer ${suite.gateway.token()}\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n${body(65_537)}\r\n0\r\n\r\n`;
    expect(await suite.gateway.raw(chunked)).toMatch(/^HTTP\/1\.1 413 [\s\S]*\{"message":"[^"]+"\}$/);
  });
});

// proves api/8/400-body
test.each([
  ['no launchType', '{}', '/launchType is required.'],
  [
    'an unknown launchType',
    '{"launchType":"Activity"}',
    '/launchType must be one of activity, service, foregroundservice, broadcast.',
  ],
  ['an unknown field', '{"launchType":"activity","a/b~é":1}', '/a~1b~0? is not a known field.'],
  [
    'a field with line breaks',
    '{"launchType":"activity","a\\r\\nSet-Cookie: x":1}',
    '/a??Set-Cookie: x is not a known field.',
  ],
  [
    '__proto__ as a field',
    '{"launchType":"activity","__proto__":{"package":"p"}}',
    '/__proto__ is not a known field.',
  ],
  [
    'constructor as a field',
    '{"launchType":"activity","constructor":{}}',
    '/constructor is not a known field.',
  ],
  ['an array', '[]', 'must be an object.'],
  ['null', 'null', 'must be an object.'],
  ['text', '"x"', 'must be an object.'],
  ['extras that are an array', withExtras('[]'), '/extras must be an object.'],
  ['extras that are null', withExtras('null'), '/extras must be an object.'],
  ['null in extras', withExtras('{"a":null}'), '/extras/a must be'],
  ['null deep in extras', withExtras('{"a":[{"b":null}]}'), '/extras/a/0/b must be'],
  ['a name twice', '{"launchType":"activity","launchType":"activity"}', '/launchType is given twice.'],
  ['a name twice by an escape', withExtras('{"a":1,"\\u0061":1}'), '/extras/a is given twice.'],
  [
    'an unpaired surrogate',
    '{"launchType":"activity","action":"\\ud800"}',
    '/action contains an unpaired surrogate.',
  ],
  [
    'an unpaired surrogate as a name',
    withExtras('{"\\udc00":1}'),
    '/extras/ contains an unpaired surrogate.',
  ],
  ['a truncated body', '{"launchType":"activ', 'The body is not valid JSON.'],
  ['two values', '{"launchType":"activity"}{}', 'The body is not valid JSON.'],
  ['a comment', '{"launchType":"activity"/**/}', 'The body is not valid JSON.'],
  ['NaN', withExtras('{"a":NaN}'), 'The body is not valid JSON.'],
  ['a leading zero', withExtras('{"a":01}'), 'The body is not valid JSON.'],
  ['a number beyond double', withExtras('{"a":1e400}'), '/extras/a must be'],
  ['nothing', '', 'The body is missing.'],
  ['white space', ' ', 'The body is not valid JSON.'],
  [
    'nesting of 65',
    withExtras(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`),
    'The body is nested deeper than 64.',
  ],
  ['nesting of 30,000', '['.repeat(30_000), 'The body is not valid JSON.'],
  [
    'closed nesting of 30,000',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    'The body is nested deeper than 64.',
  ],
])('%s is 400 with the reason', async (_, body, detail) => {
  const answer = await put(body);
  expect([answer.status, answer.text]).toEqual([400, '{"message":"Invalid request body"}']);
  expect(answer.headers['x-error-detail']?.startsWith(detail)).toBe(true);
  expect(sent()).toBeUndefined();
});

test('nesting of 64 is accepted', async () => {
  const extras = `{"a":${'['.repeat(62)}${']'.repeat(62)}}`;
  expect((await put(withExtras(extras))).status).toBe(201);
  expect(command()?.extrasJson).toBe(extras);
});

// protects against rest/header-injection
test('a long detail is truncated to 256 characters', async () => {
  const answer = await put(`{"launchType":"activity","${'x'.repeat(5000)}":1}`);
  expect(answer.headers['x-error-detail']).toHaveLength(256);
});

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((p) => (typeof p === 'string' ? Buffer.from(p) : Buffer.from(p))));
test.each([
  [
    'a byte order mark',
    bytes([0xef, 0xbb, 0xbf], '{"launchType":"activity"}'),
    'The body begins with a byte order mark.',
  ],
  ['invalid UTF-8', bytes('{"launchType":"activity","action":"', [0xc3], '"}'), 'The body is not UTF-8.'],
  ['an encoded surrogate', bytes('{"action":"', [0xed, 0xa0, 0x80], '"}'), 'The body is not UTF-8.'],
  ['overlong UTF-8', bytes('{"action":"', [0xc0, 0xaf], '"}'), 'The body is not UTF-8.'],
  ['UTF-16', Buffer.from('{"launchType":"activity"}', 'utf16le'), 'The body is not valid JSON.'],
])('%s is 400', async (_, body, detail) => {
  const answer = await put(body);
  expect([answer.status, answer.headers['x-error-detail']]).toEqual([400, detail]);
});

describe('Content-Type', () => {
  const body = '{"launchType":"activity"}';
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    // Other parameters are allowed, too (rule A22).
    'application/json; profile=a',
    'application/json ; profile="a; charset=latin1" ; charset=Utf-8;',
    'application/json; charset=utf-8; odata.metadata=minimal',
    'application/json; charset="u\\tf-8"',
  ])('%s is accepted', async (type) => {
    expect((await put(body, { 'content-type': type })).status).toBe(201);
  });
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=shift_jis',
    'application/json; profile=a; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset',
    'application/json; charset="utf-8',
    'application/json, application/json',
    'application/json charset=utf-8',
    'application/jsonp',
    '',
  ])('%p is 400', async (type) => {
    const answer = await put(body, { 'content-type': type });
    expect([answer.status, answer.headers['x-error-detail']]).toEqual([
      400,
      expect.stringContaining('Content-Type'),
    ]);
  });
  test('compressed bodies are 400', async () => {
    expect((await put(body, { 'content-encoding': 'gzip' })).headers['x-error-detail']).toContain(
      'Content-Encoding',
    );
  });
});

// proves api/5/extras-types, api/5/extras-top-numbers
test.each([
  ['"x"', ExtraType.STRING],
  ['""', ExtraType.STRING],
  ['true', ExtraType.BOOLEAN],
  ['false', ExtraType.BOOLEAN],
  ['0', ExtraType.INTEGER],
  ['-0', ExtraType.INTEGER],
  ['2147483647', ExtraType.INTEGER],
  ['-2147483648', ExtraType.INTEGER],
  ['2147483648', ExtraType.LONG],
  ['-2147483649', ExtraType.LONG],
  ['9007199254740993', ExtraType.LONG],
  ['9223372036854775807', ExtraType.LONG],
  ['-9223372036854775808', ExtraType.LONG],
  ['9223372036854775808', ExtraType.DOUBLE],
  ['-9223372036854775809', ExtraType.DOUBLE],
  [`1${'0'.repeat(300)}`, ExtraType.DOUBLE],
  ['1.0', ExtraType.DOUBLE],
  ['1e3', ExtraType.DOUBLE],
  ['1E-7', ExtraType.DOUBLE],
  ['0.10', ExtraType.DOUBLE],
  ['[1,"a"]', ExtraType.ARRAY],
  ['{"a":1}', ExtraType.OBJECT],
])('the extra %s keeps its text and gets its type', async (text, type) => {
  expect((await put(withExtras(`{ "k" : ${text} }`))).status).toBe(201);
  expect(command()).toMatchObject({ extrasJson: `{"k":${text}}`, extraTypes: { k: type } });
});

test('extras keep the order of their names, their escapes and the spaces in texts', async () => {
  const extras = '{"b":"a  \\u0020\\"\\\\ x","10":1,"9":{"z":1.50,"a":[ 1 , 2 ]}}';
  await put(withExtras(` ${extras}\r\n\t`));
  const json = command()?.extrasJson ?? '';
  expect(json).toBe(extras.replace('[ 1 , 2 ]', '[1,2]'));
  expect(stringifyLossless(parseLossless(json))).toBe(stringifyLossless(parseLossless(extras)));
});

test('__proto__ and constructor in extras are passed on as data without side effects', async () => {
  const extras = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x"}';
  expect((await put(withExtras(extras))).status).toBe(201);
  const received = command();
  expect(received?.extrasJson).toBe(extras);
  expect(Object.entries(received?.extraTypes ?? {})).toEqual([
    ['__proto__', ExtraType.OBJECT],
    ['constructor', ExtraType.OBJECT],
    ['toString', ExtraType.STRING],
  ]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

describe('Idempotency-Key', () => {
  const body = ' {"launchType":"activity"}';
  test.each(['k', 'x'.repeat(255), 'a b!~'])('%p is passed on with method, path and digest', async (key) => {
    await suite.gateway.request('PUT', `${path}?a=b`, { body, headers: { 'idempotency-key': key } });
    expect(sent()?.caller?.idempotency).toMatchObject({
      key,
      method: 'PUT',
      path,
      bodySha256: createHash('sha256').update(body).digest(),
    });
  });
  test.each(['', 'x'.repeat(256), 'é', 'a\tb'])('%p is 400', async (key) => {
    const answer = await put(body, { 'idempotency-key': key });
    expect([answer.status, JSON.parse(answer.text).message]).toEqual([
      400,
      expect.stringContaining('Idempotency-Key'),
    ]);
  });
});

import { gzipSync } from 'node:zlib';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';
import { openRaw, type RawAnswer, rawRequest, rawStatuses } from './raw-http.ts';
import { plain } from './tokens.ts';

const invalid = { message: 'Invalid request body' };
const invalidHttp = { message: 'The request is not valid HTTP.' };

describeOnStack('hostile requests', () => {
  let tenant: Tenant;
  let app: string;
  let on: string;
  let authorization: string;
  const everything = async () => [
    (await tenant.call(200, 'GET', '')).body,
    (await tenant.call(200, 'GET', on)).body,
    await tenant.transactions(),
  ];
  let before: unknown[];
  beforeAll(async () => {
    tenant = await createTenant();
    app = `/v1/applications/${tenant.applicationId}`;
    on = `/devices/${tenant.devices[0]?.deviceId}`;
    authorization = `Bearer ${await tenant.api.token()}`;
    await tenant.activate();
    before = await everything();
  });
  // After every test: nothing was written.
  afterEach(async () => expect(await everything()).toEqual(before));
  afterAll(async () => {
    // And the platform works as before.
    const headset = tenant.headset();
    headset.connect();
    expect(await tenant.ended(await tenant.command())).toMatchObject({ result: 'success' });
    await tenant.close();
  });

  /** Calls with a body, each with a valid body from which hostile bodies are derived. */
  const calls = () =>
    [
      ['PATCH', '', { deviceEvent: 'https://hostile.example.com/' }],
      ['POST', on, { clientId: 'hostile' }],
      ['PUT', `${on}/commands`, { package: 'hostile', launchType: 'activity' }],
    ] as const;
  const send = (method: string, path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    plain(method, app + path, { authorization, 'content-type': 'application/json', ...headers }, body);
  const member = (good: object, more: string) => `${JSON.stringify(good).slice(0, -1)},${more}}`;

  // protects against rest/json-broken, rest/json-prototype, rest/json-duplicate, rest/json-nesting
  // protects against rest/json-texts, rest/mass-assignment
  it.each<[string, (good: object) => string | Buffer]>([
    ['empty', () => ''],
    ['white space', () => ' \n'],
    ['truncated', (good) => JSON.stringify(good).slice(0, -1)],
    ['followed by more', (good) => `${JSON.stringify(good)}{}`],
    ['with a trailing comma', (good) => `${JSON.stringify(good).slice(0, -1)},}`],
    ['with a comment', (good) => `${JSON.stringify(good)}//`],
    ['with NaN', (good) => member(good, '"x":NaN')],
    ['a form', () => 'clientId=a&launchType=activity&deviceEvent=https://a'],
    ['XML', () => '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ['invalid UTF-8', (good) => Buffer.from(member(good, '"x":"\u00ff"'), 'latin1')],
    ['overlong UTF-8', (good) => Buffer.concat([Buffer.from(JSON.stringify(good)), Buffer.of(0xc0, 0xa0)])],
    ['UTF-16', (good) => Buffer.from(JSON.stringify(good), 'utf16le')],
    ['UTF-16 with its mark', (good) => Buffer.from(`\ufeff${JSON.stringify(good)}`, 'utf16le')],
    ['with a byte order mark', (good) => `\ufeff${JSON.stringify(good)}`],
    ['with an unpaired surrogate', (good) => member(good, '"x":"\\ud800"')],
    ['with a control character in a text', (good) => member(good, '"x":"\u0001"')],
    ['with a field twice', (good) => member(good, JSON.stringify(good).slice(1, -1))],
    ['with __proto__', (good) => member(good, '"__proto__":{"a":1}')],
    ['only __proto__ with what is needed', (good) => `{"__proto__":${JSON.stringify(good)}}`],
    ['with constructor', (good) => member(good, '"constructor":{"prototype":{"a":1}}')],
    ['with toString', (good) => member(good, '"toString":"a"')],
    ['lists 10,000 levels deep', () => '['.repeat(10_000) + ']'.repeat(10_000)],
    ['objects 5,000 levels deep', (good) => member(good, `"x":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)],
    ['unclosed lists 10,000 levels deep', () => '['.repeat(10_000)],
    ['10,000 fields', (good) => member(good, Array.from({ length: 5000 }, (_, i) => `"k${i}":1`).join())],
    ['a number of 60,000 digits', (good) => member(good, `"x":${'9'.repeat(60_000)}`)],
    ['with an operator beside', (good) => member(good, '"$where":"sleep(10000)"')],
    ['with a dotted name', (good) => member(good, '"activation.applicationId":"a"')],
    ['with what the service decides', (good) => member(good, '"transactionId":1,"epoch":9,"activated":true')],
    ['with another owner', (good) => member(good, '"applicationId":"other","developerId":"other"')],
  ])('a body that is %s is 400 on every call', async (_, make) => {
    for (const [method, path, good] of calls()) {
      const answer = await send(method, path, make(good));
      expect([method, answer.status, JSON.parse(answer.text)]).toEqual([method, 400, invalid]);
      expect(answer.headers['x-error-detail']).toMatch(/^[ -~]{1,256}$/);
    }
  });

  // protects against rest/operators-body
  it('operators instead of a text are 400, in every field', async () => {
    const command = { package: 'a', classpath: 'b', action: 'c', launchType: 'activity' };
    const fields: [string, string, Record<string, unknown>][] = [
      [
        'PATCH',
        '',
        { deviceEvent: '', soraEvent: '', soraFileSendEvent: '', fileUploadEvent: '', fileUploadGetUrl: '' },
      ],
      ['POST', on, { clientId: '' }],
      ['POST', on, { mimiClientId: '' }],
      ['PUT', `${on}/commands`, command],
    ];
    for (const [method, path, body] of fields) {
      for (const field of Object.keys(body)) {
        for (const operator of [
          { $gt: '' },
          { $ne: null },
          { $regex: '.*' },
          { $where: '1' },
          [{ $gt: '' }],
        ]) {
          const answer = await tenant.call(400, method, path, { ...body, [field]: operator });
          expect(answer.body).toEqual(invalid);
        }
      }
    }
    const secret = { mimiClientId: 'a', mimiClientSecret: { $ne: '' } };
    expect((await tenant.call(400, 'POST', on, secret)).body).toEqual(invalid);
  });

  // protects against rest/operators-query, rest/path-tricks
  it('operators in queries are 400, in paths 403 or 404, and unknown parameters change nothing', async () => {
    const operator = encodeURIComponent('{"$gt":""}');
    for (const name of ['deviceId', 'completionStatus', 'order', 'sortBy', 'perPage', 'page']) {
      await tenant.call(400, 'GET', `/transactions?${name}=${operator}`);
    }
    const list = (await tenant.call(200, 'GET', '/transactions')).body;
    const more = 'deviceId[$ne]=x&applicationId=other&$where=1&__proto__[a]=1&constructor=1';
    expect((await tenant.call(200, 'GET', `/transactions?${more}`)).body).toEqual(list);
    expect((await tenant.api.call('GET', `/v1/applications/${operator}`)).status).toBe(403);
    expect((await tenant.api.call('GET', '/v1/applications/__proto__')).status).toBe(403);
    await tenant.call(404, 'GET', `/devices/${operator}`);
    await tenant.call(404, 'GET', `/transactions/${operator}`);
    for (const path of ['%', '%zz', '%ff', '%00', '..%2f..%2fetc%2fpasswd', 'a'.repeat(4000)]) {
      const answer = await plain('GET', `/v1/applications/${path}`, { authorization });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(JSON.parse(answer.text)).toEqual({ message: expect.any(String) });
    }
  });

  // protects against rest/operators-text, rest/json-texts
  it('texts that look like operators are treated as texts', async () => {
    const own = await createTenant();
    try {
      for (const clientId of ['$gt', '{"$ne":null}', '__proto__', "' OR 1=1 --", 'a.b.c', '\u0000']) {
        const device = `/devices/${own.devices[0]?.deviceId}`;
        const unique = `${clientId}${own.applicationId}`;
        await own.call(201, 'POST', device, { clientId: unique });
        expect((await own.call(200, 'GET', device)).body).toMatchObject({ clientId: unique });
      }
    } finally {
      await own.close();
    }
  });

  // protects against rest/json-broken
  it.each([
    ['none', undefined],
    ['text/plain', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['JSON in UTF-16', 'application/json; charset=utf-16'],
    ['a look-alike', 'application/jsonp'],
    ['a list', 'application/json, text/plain'],
  ])('the content type %s is 400', async (_, type) => {
    for (const [method, path, good] of calls()) {
      const headers = { authorization, ...(type !== undefined && { 'content-type': type }) };
      const answer = await plain(method, app + path, headers, JSON.stringify(good));
      expect([answer.status, JSON.parse(answer.text)]).toEqual([400, invalid]);
    }
  });

  // protects against rest/large-body
  it('a compressed body is 400, and is never unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, ' '));
    for (const [method, path] of calls()) {
      const answer = await send(method, path, bomb, { 'content-encoding': 'gzip' });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([400, invalid]);
    }
  });

  // protects against rest/large-body
  it('a body of 1 MiB is 413, announced or not', async () => {
    const body = `{"clientId":"${'x'.repeat(1024 * 1024)}"}`;
    for (const [method, path] of calls()) {
      const head = `${method} ${app}${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n`;
      const announced = await rawRequest([`${head}Content-Length: ${body.length}\r\n\r\n`, body]);
      const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
      const chunked = await rawRequest([
        `${head}Transfer-Encoding: chunked\r\n\r\n`,
        ...Array.from({ length: 16 }, () => chunk),
      ]);
      for (const answer of [announced, chunked]) {
        expect([answer.status, JSON.parse(answer.text)]).toEqual([
          413,
          { message: 'The request body is larger than 65536 bytes.' },
        ]);
      }
    }
  });

  const command = '{"package":"a","launchType":"activity"}';
  const head = (more: string) =>
    `PUT ${app}${on}/commands HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n${more}`;
  const refusal = (answer: RawAnswer) => {
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['x-request-id']).toMatch(/^[\w.-]+$/);
    return [answer.status, JSON.parse(answer.text)];
  };

  // protects against rest/slow-body
  it('a body that arrives too slowly is 408', async () => {
    const drops = Array.from({ length: 60 }, () => ' ');
    const slow = await rawRequest([head(`Content-Length: 1000\r\n\r\n`), ...drops], { pauseMs: 200 });
    expect(refusal(slow)).toEqual([408, { message: 'The request did not arrive in time.' }]);
  });

  // protects against rest/slow-body
  it('an incomplete body has no effect', async () => {
    const cut = await rawRequest([head(`Content-Length: 1000\r\n\r\n${command}`)], { end: true });
    expect([0, 400]).toContain(cut.status);
    const chunks = `Transfer-Encoding: chunked\r\n\r\n${command.length.toString(16)}\r\n${command}\r\n`;
    expect([0, 400]).toContain((await rawRequest([head(chunks)], { end: true })).status);
  });

  // protects against rest/slow-headers
  it('headers that arrive too slowly are 408', async () => {
    const drops = Array.from({ length: 60 }, (_, i) => `X-A${i}: 1\r\n`);
    const slow = await rawRequest([head(''), ...drops], { pauseMs: 200 });
    expect(refusal(slow)).toEqual([408, { message: 'The request did not arrive in time.' }]);
  });

  // protects against rest/large-headers
  it('a flood of headers is 431', async () => {
    const tooLarge = { message: 'The request headers are too large.' };
    const many = Array.from({ length: 3000 }, (_, i) => `X-${i}: ${i}\r\n`).join('');
    expect(refusal(await rawRequest([head(`${many}\r\n`)]))).toEqual([431, tooLarge]);
    expect(refusal(await rawRequest([head(`X-A: ${'x'.repeat(100_000)}\r\n\r\n`)]))).toEqual([431, tooLarge]);
    expect(refusal(await rawRequest([`GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`]))).toEqual([
      431,
      tooLarge,
    ]);
  });

  // protects against rest/smuggling, rest/http-nonsense
  it.each<[string, () => string]>([
    ['no HTTP at all', () => '\u0016\u0003\u0001\u0002\u0000\u0001'],
    ['an HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', () => 'STEAL / HTTP/1.1\r\nHost: a\r\n\r\n'],
    [
      'both lengths',
      () => head(`Content-Length: ${command.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    ],
    ['two lengths', () => head(`Content-Length: 1\r\nContent-Length: ${command.length}\r\n\r\n${command}`)],
    ['a negative length', () => head(`Content-Length: -1\r\n\r\n${command}`)],
    ['a length in hex', () => head(`Content-Length: 0x27\r\n\r\n${command}`)],
    ['a bad chunk size', () => head(`Transfer-Encoding: chunked\r\n\r\nzz\r\n${command}\r\n0\r\n\r\n`)],
    ['a header name with a space', () => head(`X A: 1\r\nContent-Length: 0\r\n\r\n`)],
    ['a bare line feed in a header', () => head(`X-A: 1\nX-B: 2\r\nContent-Length: 0\r\n\r\n`)],
    ['a null byte in a header', () => head(`X-A: \u0000\r\nContent-Length: 0\r\n\r\n`)],
  ])('%s is 400', async (_, text) => {
    expect(refusal(await rawRequest([text()]))).toEqual([400, invalidHttp]);
  });

  // protects against rest/smuggled-request
  it('a request hidden in the body of another is never answered, and has no effect', async () => {
    const hidden = `${head(`Content-Length: ${command.length}\r\n\r\n`)}${command}`;
    const get = (more: string) =>
      `GET ${app} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n${more}\r\n\r\n`;
    const last = get('Connection: close');
    const announced = `Content-Length: ${hidden.length}`;
    const [zero, chunked] = ['0\r\n\r\n', 'Transfer-Encoding: chunked'];
    const large = 'x'.repeat(70_000);
    for (const [statuses, bytes] of [
      // The length counts: everything within it is the body, and the next request follows.
      [[200, 200], `${get(announced)}${hidden}${last}`],
      // A second length, or two kinds of length: nothing that follows is read.
      [[400], `${get(`${announced}\r\n${chunked}`)}${zero}${hidden}${last}`],
      [[400], `${get(`${chunked}\r\n${announced}`)}${zero}${hidden}${last}`],
      [[400], `${get(`${announced}\r\nContent-Length: 0`)}${hidden}${last}`],
      [[400], `${get('Transfer-Encoding: chunked, identity')}${zero}${hidden}${last}`],
      [[400], `${get('Transfer-Encoding: xchunked')}${zero}${hidden}${last}`],
      [[400], `${get('Transfer-Encoding : chunked')}${zero}${hidden}${last}`],
      [[400], `${get('Content-Length: +1')}${hidden}${last}`],
      [[400], `${get(' Content-Length: 0')}${hidden}${last}`],
      // The answer is sent before the whole body was read.
      [
        [413, 200],
        `${head(`Content-Length: ${large.length + hidden.length}\r\n\r\n`)}${large}${hidden}${last}`,
      ],
    ] as const) {
      expect([bytes.slice(0, 300), await rawStatuses(bytes)]).toEqual([bytes.slice(0, 300), statuses]);
    }
  });

  // protects against rest/header-injection
  it('line breaks in values that headers repeat create no header', async () => {
    const breaks = '\r\nSet-Cookie: a=b\r\n\r\n';
    const path = encodeURIComponent(breaks);
    const json = JSON.stringify({ [breaks]: breaks, package: breaks, launchType: breaks });
    for (const answer of [
      ...(await Promise.all(calls().map(([method, to]) => send(method, to, json)))),
      await plain('GET', `/v1/applications/${path}`, { authorization }),
      await plain('GET', `${app}/devices/${path}`, { authorization }),
      await plain('GET', `${app}/transactions?perPage=${path}&order=${path}`, { authorization }),
      await plain('GET', app, { authorization, 'x-request-id': 'a%0d%0aSet-Cookie: a=b' }),
    ]) {
      expect(answer.headers['set-cookie']).toBeUndefined();
      for (const value of Object.values(answer.headers).flat()) expect(value).toMatch(/^[ -~]*$/);
      expect(String(answer.headers['x-request-id'])).toMatch(/^[\w.-]{1,128}$/);
    }
  });

  // protects against rest/http-nonsense
  it('a missing Host is 400; an unusual Host, an absolute target and an invalid query do no harm', async () => {
    const none = await rawRequest([`GET ${app} HTTP/1.1\r\nAuthorization: ${authorization}\r\n\r\n`]);
    expect(refusal(none)).toEqual([400, { message: 'The Host header is missing.' }]);
    const strange = await rawRequest([
      `GET ${app}?%%%=&&[]=$ HTTP/1.1\r\nHost: ::::\r\nAuthorization: ${authorization}\r\n\r\n`,
    ]);
    expect(strange.status).toBe(200);
    const absolute = await rawRequest([`GET http://169.254.169.254/latest HTTP/1.1\r\nHost: a\r\n\r\n`]);
    expect(absolute.status).toBe(403);
    const tunnel = await rawRequest(['CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n']);
    expect([0, 403]).toContain(tunnel.status);
  });

  // protects against rest/half-requests
  it('hundreds of incomplete requests do not block other clients', async () => {
    await waitFor('a call to be answered before any of them', async () => {
      let ended = 0;
      const stuck = Array.from({ length: 300 }, async () => {
        const { status } = await rawRequest([head('Content-Length: 50\r\n\r\n{')]);
        ended += 1;
        return status;
      });
      await tenant.call(200, 'GET', '');
      const isFirst = ended === 0;
      expect(new Set(await Promise.all(stuck))).toEqual(new Set([408]));
      return isFirst;
    });
  });

  // protects against rest/body-flood
  it('large bodies in progress have a limit: beyond it a client gets 503 with Retry-After, small bodies pass', async () => {
    const bytes = 1_048_576;
    const head = [
      `PUT ${app}${on}/settings/wifi HTTP/1.1`,
      ...['Host: a', `Authorization: ${authorization}`, 'Content-Type: application/json'],
      ...[`Content-Length: ${bytes}`, 'Connection: close'],
    ];
    // The complete body is no list: nothing is written.
    const first = `${head.join('\r\n')}\r\n\r\n`;
    const rest = Buffer.alloc(bytes, ' ');
    const sockets = Array.from({ length: 40 }, () => openRaw(first));
    try {
      const refused = await waitFor('refusals', () => {
        const answered = sockets.filter(({ answer }) => answer().status !== 0);
        return answered.length >= 8 ? answered : undefined;
      });
      expect(refused.map(({ answer }) => answer().status)).toEqual(Array(8).fill(503));
      expect(refused[0]?.answer().headers['retry-after']).toBe('1');
      // Other calls, also of the same client, pass meanwhile.
      expect((await send('PATCH', '', '{"x":1}')).status).toBe(400);
      const others = sockets.filter((one) => !refused.includes(one));
      for (const { socket } of others) socket.write(rest);
      await waitFor('all answers', () => others.every(({ answer }) => answer().status === 400));
      // There is capacity again.
      const again = openRaw(first);
      again.socket.write(rest);
      sockets.push(again);
      await waitFor('the answer', () => again.answer().status === 400);
    } finally {
      for (const { socket } of sockets) socket.destroy();
    }
  });
});

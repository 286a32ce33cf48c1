import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get as httpGet, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { cacheControl } from '../../server/headers.ts';
import { routeOf } from '../../server/routing.ts';
import { type Site, startSite } from '../support/site.ts';

const large = `<!doctype html><title>a</title>${'あ'.repeat(20_000)}`;
const contents: Record<string, string> = {
  '/index.html': '<title>home</title>',
  '/404.html': '<title>missing</title>',
  '/a/index.html': large,
  '/a.md': '# a',
  '/app-0123456789abcdef0123.js': '1',
  '/日本.txt': '文書',
};

let folder: string;
let site: Site;

function makeDist(): string {
  const made = mkdtempSync(join(tmpdir(), 'site-server-'));
  for (const [file, content] of Object.entries(contents)) {
    mkdirSync(join(made, 'site', file, '..'), { recursive: true });
    writeFileSync(join(made, 'site', file), content);
  }
  writeFileSync(join(made, 'site/a/index.html.br'), brotliCompressSync(large));
  writeFileSync(join(made, 'site/a/index.html.gz'), gzipSync(large));
  writeFileSync(join(made, 'secret'), 'outside the folder');
  const etags = Object.fromEntries(Object.keys(contents).map((file) => [file, `etag${file.length}`]));
  const inline = { '/a/index.html': { scripts: ["'sha256-AAA='"], styles: ["'sha256-BBB='"] } };
  writeFileSync(
    join(made, 'server.json'),
    JSON.stringify({ etags, inline, announcementsOrigin: 'https://news.example' }),
  );
  return made;
}

before(async () => {
  folder = makeDist();
  site = await startSite(folder);
});
after(async () => {
  await site.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, init: RequestInit = {}) => fetch(site.url + path, { redirect: 'manual', ...init });

/** Sends a request with an unchanged path. `fetch` would normalize the path. */
async function raw(path: string): Promise<{ status: number; body: string; location: string | undefined }> {
  const sent = request({ host: '127.0.0.1', port: site.port, path });
  sent.end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, body, location: response.headers.location };
}

describe('server: addresses', () => {
  for (const path of ['/a.html', '/a/index.html', '/a/index', '/a/index/', '/a/index.html/', '/a/', '/a//']) {
    test(`${path} redirects to /a and keeps the query`, async () => {
      const response = await get(`${path}?x=1&y=%2F`);
      assert.equal(response.status, 301);
      assert.equal(response.headers.get('location'), '/a?x=1&y=%2F');
    });
  }
  for (const path of ['/index.html', '/index', '/index/']) {
    test(`${path} redirects to /`, async () => {
      const response = await get(`${path}?x=1`);
      assert.equal(response.status, 301);
      assert.equal(response.headers.get('location'), '/?x=1');
    });
  }
  test('a name that ends with index is not shortened', () => {
    assert.deepEqual(
      routeOf('/a/my-index', (file) => file === '/a/my-index/index.html'),
      { to: 'file', file: '/a/my-index/index.html' },
    );
  });
  test('a target with scheme and host is served as its path', async () => {
    const served = (await raw('http://any.example/a')).body;
    assert.equal(served, large);
    assert.equal((await raw('HTTP://any.example:80')).body, contents['/index.html']);
    assert.equal((await raw('http://any.example?x=1')).body, contents['/index.html']);
    assert.equal((await raw('https://any.example/a/?x=1')).location, '/a?x=1');
    assert.equal((await raw('http://any.example//evil.example/')).location, '/evil.example');
    assert.equal((await raw('http:///a')).status, 404);
    assert.equal((await raw('ftp://any.example/a')).status, 404);
  });
  test('slashes at the beginning do not redirect to another host', async () => {
    assert.equal((await raw('//evil.example/')).location, '/evil.example');
    assert.equal((await raw('/%2Fevil.example/')).location, '/evil.example');
    assert.equal((await raw('/\\evil.example/')).status, 404);
  });
  test('an unknown path gets the not-found page with the status 404', async () => {
    const response = await get('/nothing');
    assert.equal(response.status, 404);
    assert.equal(await response.text(), contents['/404.html']);
    assert.equal(response.headers.get('cache-control'), 'no-store');
  });
  test('the not-found page has no address', async () => {
    assert.equal((await get('/404')).status, 404);
  });
  test('no path leads outside the folder', async () => {
    for (const path of [
      '/../secret',
      '/..%2fsecret',
      '/a/../../secret',
      '/%2e%2e/secret',
      '/..\\secret',
      '/server.json',
      '/%00',
      '/%zz',
    ]) {
      const { status, body } = await raw(path);
      assert.ok([301, 404].includes(status), `${path}: ${status}`);
      assert.doesNotMatch(body, /outside the folder|etags/);
    }
  });
  test('a Japanese path is found', async () => {
    const response = await get(`/${encodeURIComponent('日本.txt')}`);
    assert.equal(response.status, 200);
    assert.equal(await response.text(), '文書');
  });
  // protects against site/traversal
  test('routes are resolved by the build’s list only', () => {
    assert.deepEqual(
      routeOf('/constructor', (file) => Object.hasOwn(contents, file)),
      { to: 'nothing' },
    );
  });
});

describe('server: methods, compression, caching', () => {
  // protects against site/methods
  test('only GET and HEAD are allowed', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await get('/a', { method });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'GET, HEAD');
    }
    const head = await get('/a', { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  });
  for (const encoding of ['br', 'gzip'] as const) {
    test(`a file is sent as ${encoding} if the client accepts it`, async () => {
      const response = await get('/a', { headers: { 'accept-encoding': encoding } });
      assert.equal(response.headers.get('content-encoding'), encoding);
      assert.equal(response.headers.get('vary')?.toLowerCase(), 'accept-encoding');
      assert.equal(await response.text(), large);
    });
  }
  test('a client that accepts no compression gets the uncompressed file', async () => {
    const response = await get('/a', { headers: { 'accept-encoding': 'identity' } });
    assert.equal(response.headers.get('content-encoding'), null);
    assert.equal(await response.text(), large);
  });
  test('br is preferred to gzip', async () => {
    assert.equal(
      (await get('/a', { headers: { 'accept-encoding': 'gzip, br' } })).headers.get('content-encoding'),
      'br',
    );
  });
  for (const [accepted, encoding] of [
    ['br;q=0', null],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.2, gzip;q=0.8', 'gzip'],
    ['gzip;q=0, *', 'br'],
    ['GZIP', 'gzip'],
    ['*', 'br'],
    ['abracadabra', null],
  ] as const) {
    test(`Accept-Encoding ${accepted} returns ${encoding ?? 'no coding'}`, async () => {
      const response = await get('/a', { headers: { 'accept-encoding': accepted } });
      assert.equal(response.headers.get('content-encoding'), encoding);
      assert.equal(await response.text(), large);
    });
  }
  test('a client that accepts no coding gets 406', async () => {
    assert.equal(
      (await get('/a', { headers: { 'accept-encoding': 'gzip;q=0, br;q=0, identity;q=0' } })).status,
      406,
    );
  });
  test('a matching ETag returns 304 without a body', async () => {
    const etag = (await get('/a')).headers.get('etag') ?? '';
    const response = await get('/a', { headers: { 'if-none-match': `"other", ${etag}` } });
    assert.equal(response.status, 304);
    assert.equal((await get('/a', { headers: { 'if-none-match': '"other"' } })).status, 200);
    const strong = etag.replace('W/', '');
    assert.equal((await get('/a', { headers: { 'if-none-match': strong } })).status, 304);
  });
  test('files with a hash in the name are immutable, and pages must be revalidated', async () => {
    assert.match((await get('/app-0123456789abcdef0123.js')).headers.get('cache-control') ?? '', /immutable/);
    assert.match((await get('/a')).headers.get('cache-control') ?? '', /max-age=0, must-revalidate/);
    assert.match(cacheControl('/fragments/docs.0123456789.txt'), /immutable/);
    assert.doesNotMatch(cacheControl('/page-data/a/page-data.json'), /immutable/);
    assert.doesNotMatch(cacheControl('/llms.txt'), /immutable/);
  });
  test('range requests return the whole file', async () => {
    const response = await get('/a', { headers: { range: 'bytes=0-10', 'accept-encoding': 'br' } });
    assert.equal(response.status, 200);
    assert.equal(await response.text(), large);
  });
});

describe('server: headers', () => {
  // protects against site/scripts
  test('every response has the policies', async () => {
    for (const [path, init] of [
      ['/a', {}],
      ['/nothing', {}],
      ['/a/', {}],
      ['/a', { method: 'POST' }],
    ] as const) {
      const { headers } = await get(path, init);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /script-src[^;]*unsafe|style-src [^;]*unsafe/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.ok(headers.get('referrer-policy'));
      assert.ok(headers.get('permissions-policy'));
    }
  });
  for (const [what, status, bytes] of [
    ['an invalid request line', 400, 'GET a b c HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a missing Host header', 400, 'GET /a HTTP/1.1\r\n\r\n'],
    ['a header that is too large', 431, `GET /a HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['an Expect header', 417, 'GET /a HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n'],
    ['CONNECT', 405, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ] as const) {
    test(`${what} gets ${status} with the policies, and is counted`, async () => {
      const socket = connect(site.port, '127.0.0.1');
      socket.write(bytes);
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
        if (received.includes('\r\n\r\n')) socket.end();
      });
      await once(socket, 'close');
      assert.match(received, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(received, /content-security-policy: default-src 'none'/);
      assert.match(received, /x-content-type-options: nosniff/);
      assert.equal(/^allow: GET, HEAD\r$/m.test(received), status === 405);
      assert.match(await site.metrics.metrics(), new RegExp(`status="${status}"\\} [1-9]`));
    });
  }
  test('a page allows its own inline scripts, styles and the announcements’ origin', async () => {
    const policy = (await get('/a')).headers.get('content-security-policy') ?? '';
    assert.match(policy, /script-src 'self' 'sha256-AAA='/);
    assert.match(policy, /style-src 'self' 'sha256-BBB='/);
    assert.match(policy, /worker-src 'self';/);
    assert.match(policy, /connect-src 'self' https:\/\/news\.example/);
    assert.doesNotMatch((await get('/')).headers.get('content-security-policy') ?? '', /sha256-AAA/);
  });
  test('a Markdown file has the type text/markdown', async () => {
    assert.equal((await get('/a.md')).headers.get('content-type'), 'text/markdown; charset=utf-8');
  });
});

describe('server: operation', () => {
  test('responses are counted by status', async () => {
    assert.match(await site.metrics.metrics(), /site_http_responses_total\{status="200"\} \d+/);
  });
  for (const [what, damage] of [
    ['an empty list', (made: string) => writeFileSync(join(made, 'server.json'), '{}')],
    ['a list that is not JSON', (made: string) => writeFileSync(join(made, 'server.json'), '{"etags":')],
    ['a missing page', (made: string) => rmSync(join(made, 'site/a/index.html'))],
  ] as const) {
    test(`a damaged site is rejected: ${what}`, async () => {
      const made = makeDist();
      damage(made);
      await assert.rejects(startSite(made), /no complete built site in .*make site/);
      rmSync(made, { recursive: true });
    });
  }
  test('a build that is deleted is still served', async () => {
    const made = makeDist();
    const own = await startSite(made);
    rmSync(made, { recursive: true });
    for (const [file, content] of Object.entries(contents)) {
      if (file === '/404.html') continue;
      const answer = await fetch(own.url + encodeURI(file.replace(/\/?index\.html$/, '') || '/'));
      assert.equal(await answer.text(), content);
    }
    await own.stop();
  });
  test('cancelled requests leave no open files', { timeout: 60_000 }, async () => {
    const files = () => readdirSync('/proc/self/fd').length;
    const before = files();
    for (let i = 0; i < 200; i += 1) {
      const socket = connect(site.port, '127.0.0.1');
      socket.write('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
      await once(socket, 'data');
      socket.destroy();
    }
    do assert.equal((await get('/a')).status, 200);
    while (files() > before + 20);
  });
  test('clients that keep sending requests do not delay the shutdown', { timeout: 60_000 }, async () => {
    const own = await startSite(folder);
    const agent = new Agent({ keepAlive: true });
    let isOpen = true;
    const sendRequest = () =>
      new Promise<boolean>((done) => {
        httpGet({ host: '127.0.0.1', port: own.port, path: '/a', agent }, (answer) => {
          answer
            .on('end', () => done(answer.complete))
            .on('error', () => done(false))
            .resume();
        }).on('error', () => {
          // The connection was rejected: the port is closed.
          isOpen = false;
          done(true);
        });
      });
    const client = async () => {
      while (isOpen) assert.ok(await sendRequest(), 'the response was cut off');
    };
    const clients = Promise.all(Array.from({ length: 8 }, client));
    await sendRequest();
    await own.stop(600_000);
    await clients;
    agent.destroy();
  });
});

import { EventEmitter } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Keyboard } from './prompt.ts';
import { type Cloud, closed, listening, openCloud, secret } from './testing/cloud.ts';
import { run } from './testing/run.ts';

let folder: string;
let cloud: Cloud;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hc-'));
  cloud = await openCloud((call) =>
    call === 'GET ' ? { body: {} } : { body: { deliveries: [], cursor: null } },
  );
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await cloud.close();
});

const home = () => ({ XDG_CONFIG_HOME: folder });
const file = () => join(folder, 'headset-cloud/default.json');
const words = () => [
  ...['--application', 'app-1', 'login', '--api-url', `${cloud.url}/v1/`],
  ...['--token-url', `${cloud.url}/token`, '--client', 'client-1'],
];

describe('hc login', () => {
  // protects against hc/credentials-file
  test('stores credentials that the API accepted, readable only by the user, with the secret from standard input', async () => {
    const { code, out } = await run(words(), home(), { input: `${secret}\n` });
    expect(code).toBe(0);
    expect(out).not.toContain(secret);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({
      ...{ apiUrl: cloud.url, tokenUrl: `${cloud.url}/token`, applicationId: 'app-1' },
      ...{ clientId: 'client-1', clientSecret: secret },
    });
    const [token] = cloud.asked;
    // RFC 6749, 2.3.1.
    expect(token?.headers.authorization).toBe(
      `Basic ${Buffer.from('client-1:the+secret%3A+100%25').toString('base64')}`,
    );
    expect(await run('deliveries list', home())).toMatchObject({ code: 0, out: 'No deliveries.\n' });
    expect(await run('logout', home())).toMatchObject({ code: 0, out: `${file()} was removed.\n` });
    expect(existsSync(file())).toBe(false);
    expect(await run('logout', home())).toMatchObject({
      ...{ code: 0, out: `No login is stored in ${file()}.\n` },
    });
    expect(JSON.parse((await run('logout --json', home())).out)).toEqual({ removed: null });
    expect(await run('deliveries list', home())).toMatchObject({ code: 4 });
  });

  test('reads a file with a byte-order mark, and names UTF-16', async () => {
    const from = join(home().XDG_CONFIG_HOME, 'demo.json');
    const given = { apiUrl: cloud.url, tokenUrl: `${cloud.url}/token`, applicationId: 'app-1' };
    const text = `\uFEFF${JSON.stringify({ ...given, clientId: 'client-1', clientSecret: secret })}`;
    writeFileSync(from, text, { mode: 0o600 });
    expect(await run(['login', '--from', from], home())).toMatchObject({ code: 0, err: '' });
    writeFileSync(from, text, 'utf16le');
    expect(await run(['login', '--from', from], home())).toMatchObject({
      ...{ code: 2, err: `The file of --from, ${from}, cannot be read: it is UTF-16. Save it as UTF-8.\n` },
    });
  });

  test('stores no rejected credentials, and reports which were rejected', async () => {
    await cloud.close();
    cloud = await openCloud(
      () => ({}),
      () => ({ status: 401, body: { error: 'invalid_client' } }),
    );
    const { code, err } = await run(words(), home(), { input: 'wrong' });
    expect([code, err]).toEqual([
      4,
      `The token endpoint ${cloud.url}/token rejects the client client-1 and its secret. Run hc login with the correct client and secret (401, invalid_client).\n`,
    ]);
    expect(existsSync(file())).toBe(false);
  });

  // protects against hc/secret-shown
  test('asks for the secret at a terminal without showing it', async () => {
    const keys = new EventEmitter();
    const modes: boolean[] = [];
    const keyboard = Object.assign(keys, {
      setRawMode(raw: boolean) {
        modes.push(raw);
        // Typed with a mistake that is corrected.
        if (raw) setImmediate(() => keys.emit('data', Buffer.from(`${secret}x\u007f\r`)));
        return keys;
      },
      resume() {},
      pause() {},
    });
    const { code, out, err } = await run(words(), home(), { keyboard: keyboard as unknown as Keyboard });
    expect(code).toBe(0);
    expect(err).toBe("The client's secret (it is not shown): \n");
    expect(out).not.toContain('secret:');
    expect(modes).toEqual([true, false]);
    expect(JSON.parse(readFileSync(file(), 'utf8')).clientSecret).toBe(secret);
  });

  // protects against hc/secret-shown
  test('has no option for the secret', async () => {
    const { code, err } = await run([...words(), '--client-secret', 'x'], home());
    expect([code, err]).toEqual([2, expect.stringContaining("unknown option '--client-secret'")]);
  });

  test('discovers the token endpoint from the issuer, whose name must match', async () => {
    let named = '';
    const issuer = createServer((_, response) =>
      response.end(JSON.stringify({ issuer: named, token_endpoint: `${cloud.url}/token` })),
    );
    const url = await listening(issuer);
    named = `${url}/`;
    const login = words().map((word) =>
      word === '--token-url' ? '--issuer' : word === `${cloud.url}/token` ? url : word,
    );
    expect((await run(login, home(), { input: secret })).code).toBe(0);
    named = 'https://id.example.com';
    expect(await run(login, home(), { input: secret })).toMatchObject({
      code: 1,
      err: expect.stringContaining('belongs to another issuer, "https://id.example.com"'),
    });
    await closed(issuer);
  });

  test('uses the token endpoint exactly as given or discovered, with its trailing slash', async () => {
    const tokenUrl = `${cloud.url}/token/`;
    const given = words().map((word) => (word === `${cloud.url}/token` ? tokenUrl : word));
    expect((await run(given, home(), { input: secret })).code).toBe(0);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ apiUrl: cloud.url, tokenUrl });
    expect((await run('deliveries list', home())).code).toBe(0);
    expect((await run('deliveries list', { ...cloud.env, HC_TOKEN_URL: tokenUrl })).code).toBe(0);
    const issuer = createServer((_, response) =>
      response.end(JSON.stringify({ issuer: issuerUrl, token_endpoint: tokenUrl })),
    );
    const issuerUrl = await listening(issuer);
    const discovered = given.map((word) =>
      word === '--token-url' ? '--issuer' : word === tokenUrl ? `${issuerUrl}/` : word,
    );
    expect((await run(discovered, home(), { input: secret })).code).toBe(0);
    await closed(issuer);
    const tokens = cloud.asked.map(({ url }) => url).filter((url) => url.startsWith('/token'));
    expect(tokens).toEqual(Array(4).fill('/token/'));
  });

  test('treats empty variables as absent', async () => {
    const from = join(folder, 'demo.json');
    const content = { apiUrl: cloud.url, tokenUrl: `${cloud.url}/token`, applicationId: 'app-1' };
    writeFileSync(from, JSON.stringify({ ...content, clientId: 'client-1', clientSecret: secret }), {
      mode: 0o600,
    });
    const names = ['API_URL', 'ISSUER', 'TOKEN_URL', 'APPLICATION', 'CLIENT_ID', 'CLIENT_SECRET'];
    const empty = Object.fromEntries([...names, 'CLIENT_SECRET_FILE'].map((name) => [`HC_${name}`, '']));
    expect(await run(['login', '--from', from], { ...home(), ...empty })).toMatchObject({ code: 0, err: '' });
  });

  test('reads the issuer from HC_ISSUER, which the help names', async () => {
    const { code, err } = await run(
      words().filter((word) => word !== '--token-url' && word !== `${cloud.url}/token`),
      { ...home(), HC_ISSUER: `${cloud.url}/token` },
      { input: secret },
    );
    expect([code, err]).toEqual([1, expect.stringContaining(`${cloud.url}/token/.well-known/`)]);
    expect((await run('--help', {})).out).toContain('HC_ISSUER');
  });

  test('reads all values from a file of make up, unless others may read the file', async () => {
    const demo = join(folder, 'demo.json');
    const content = {
      ...{ apiUrl: cloud.url, tokenUrl: `${cloud.url}/token`, applicationId: 'app-1' },
      ...{ clientId: 'client-1', clientSecret: secret, authenticationKey: 'not wanted' },
    };
    writeFileSync(demo, JSON.stringify(content), { mode: 0o600 });
    expect((await run(['login', '--from', demo], home())).code).toBe(0);
    expect(readFileSync(file(), 'utf8')).not.toContain('not wanted');
    chmodSync(demo, 0o644);
    expect(await run(['login', '--from', demo], home())).toMatchObject({
      code: 2,
      err: expect.stringContaining('may be read or changed by others (mode 0644)'),
    });
  });
});

describe('the credentials', () => {
  const store = (content: string, mode = 0o600) =>
    run(words(), home(), { input: secret }).then(() => {
      writeFileSync(file(), content);
      chmodSync(file(), mode);
    });

  test('of the environment override the file, each separately', async () => {
    await run(words(), home(), { input: secret });
    const env = { ...home(), HC_CLIENT_ID: 'client-2' };
    expect((await run('deliveries list', env)).code).toBe(0);
    const basic = cloud.asked
      .filter(({ url }) => url === '/token')
      .at(-1)
      ?.headers.authorization?.slice(6);
    expect(Buffer.from(basic ?? '', 'base64').toString()).toMatch(/^client-2:/);
    expect((await run('--application app-2 deliveries list', env)).code).toBe(0);
    expect(cloud.asked.at(-1)?.url).toMatch(/^\/v1\/applications\/app-2\/deliveries/);
  });

  test('a token of the environment needs no client', async () => {
    const { HC_CLIENT_ID: _, HC_CLIENT_SECRET: __, HC_TOKEN_URL: ___, ...env } = cloud.env;
    expect((await run('deliveries list', { ...env, HC_ACCESS_TOKEN: 'mine' })).code).toBe(0);
    expect(cloud.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer mine']);
  });

  test('that are missing are listed', async () => {
    const { HC_CLIENT_SECRET: _, ...env } = cloud.env;
    expect(await run('deliveries list', env)).toEqual({
      ...{ code: 4, out: '', err: 'You are not logged in: run hc login, or set HC_CLIENT_SECRET.\n' },
    });
  });

  // protects against hc/credentials-file
  test('of a file that others may read are rejected, before anything is sent', async () => {
    await store('{}', 0o644);
    cloud.asked.length = 0;
    const { code, err } = await run('deliveries list', home());
    expect([code, err]).toEqual([2, expect.stringContaining('may be read or changed by others (mode 0644)')]);
    expect(cloud.asked).toEqual([]);
  });

  test('of a damaged file are reported without its content', async () => {
    await store('{"clientSecret":"half of a sec');
    const { code, err } = await run('deliveries list', home());
    expect([code, err]).toEqual([2, expect.stringContaining('is damaged. Run hc login')]);
    expect(err).not.toContain('half');
  });

  // protects against hc/plain-http
  test.each(['http://api.example.com', 'http://127.0.0.1.example.com', 'http://10.0.0.1:8080'])(
    'are not sent to %s, which is plain http to another machine',
    async (HC_TOKEN_URL) => {
      const { code, err } = await run('deliveries list', { ...cloud.env, HC_TOKEN_URL });
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(
          /^The token endpoint, \S+, is plain http, where the secret and tokens can be intercepted/,
        ),
      ]);
      expect(cloud.asked).toEqual([]);
    },
  );

  test.each([
    'ftp://x',
    'localhost:8080',
    'https://me:pw@api.example.com',
    'https://api.example.com/?a=1',
    'nonsense',
  ])('for the address %s are rejected', async (HC_API_URL) => {
    expect((await run('deliveries list', { ...cloud.env, HC_API_URL })).code).toBe(2);
  });
});

import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import { testCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type buildConnector, Pool } from 'undici';
import { addressRules, parseNetworks } from './address-rules.ts';
import { createConfiguredConnector, createConnector } from './connector.ts';
import { parseNoProxy } from './no-proxy.ts';
import type { Resolve } from './resolve.ts';
import { type ConnectProxy, startConnectProxy } from './testing/connect-proxy.ts';

const closers: (() => Promise<unknown> | unknown)[] = [];
let proxy: ConnectProxy;
beforeEach(async () => {
  proxy = await startConnectProxy();
  closers.push(() => proxy.close());
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    if ('closeAllConnections' in server) (server as ReturnType<typeof createHttp>).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that returns the name that its client used: in TLS, and in the header Host. */
async function site(tls: boolean): Promise<number> {
  const answer: Parameters<typeof createHttps>[1] = (request, response) => {
    const { servername = '' } = request.socket as { servername?: string };
    response.end(`${servername || 'no TLS'} ${request.headers.host}`);
  };
  return listen((tls ? createHttps({ ...testCertificate }, answer) : createHttp(answer)) as Server);
}

interface Options {
  addresses?: readonly string[];
  allow?: string;
  authorization?: string;
  noProxy?: string;
  connectTimeoutMs?: number;
  /** Uses the connector for hosts that operators have configured, instead of the one for integrators' hosts. */
  configured?: boolean;
  time?: Time;
}

/** Returns the answer to a GET through the proxy. Public addresses are routed to this machine. */
async function get(url: string, options: Options = {}): Promise<string> {
  const resolve: Resolve = async () => options.addresses ?? ['93.184.215.14'];
  const reach = {
    connectTimeoutMs: options.connectTimeoutMs ?? 5000,
    ca: testCertificate.cert,
    ...(options.time && { time: options.time }),
    proxy: {
      origin: proxy.origin,
      bypass: parseNoProxy(options.noProxy),
      ...(options.authorization && { authorization: options.authorization }),
    },
  };
  const connect: buildConnector.connector = options.configured
    ? createConfiguredConnector(reach)
    : createConnector({ ...reach, rules: addressRules(parseNetworks(options.allow)), resolve });
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connect });
  closers.push(() => pool.destroy());
  const answer = await pool.request({ method: 'GET', path: pathname });
  return answer.body.text();
}

const toThisMachine = () => {
  proxy.route = () => '127.0.0.1';
};

describe('through the egress proxy', () => {
  it('the proxy gets the checked address; TLS and Host contain the name', async () => {
    toThisMachine();
    const port = await site(true);
    expect(await get(`https://localhost:${port}/`)).toBe(`localhost localhost:${port}`);
    expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
  });

  it('a request without TLS uses a tunnel, too', async () => {
    toThisMachine();
    const port = await site(false);
    expect(await get(`http://shop.example:${port}/`)).toBe(`no TLS shop.example:${port}`);
    expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
  });

  it.each([
    ['a name of a private address', 'http://internal.example:80/', ['10.0.0.1', '169.254.169.254']],
    ['a private address', 'http://10.0.0.1:80/', ['10.0.0.1']],
    ['a private address in IPv6', 'http://[fd00::1]:80/', ['fd00::1']],
  ])('%s is rejected without a request to the proxy', async (_, url, addresses) => {
    await expect(get(url, { addresses })).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(proxy.asked).toEqual([]);
  });

  it('requests only public addresses of a host, and tries the next address after a failure', async () => {
    const port = await site(false);
    proxy.route = (host) => (host === '93.184.215.15' ? '127.0.0.1' : undefined);
    const addresses = ['10.0.0.1', '2606:4700::1111', '93.184.215.15'];
    expect(await get(`http://shop.example:${port}/`, { addresses })).toContain('shop.example');
    expect(proxy.asked).toEqual([`[2606:4700::1111]:${port}`, `93.184.215.15:${port}`]);
  });

  // protects against callbacks/ssrf-rebinding, callbacks/ssrf-proxy
  it('a name that resolves to an internal address at the second connection is rejected there', async () => {
    toThisMachine();
    const port = await site(false);
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const connect = createConnector({
      ...{ connectTimeoutMs: 5000, rules: addressRules([]), resolve: async () => answers.shift() ?? [] },
      proxy: { origin: proxy.origin, bypass: () => false },
    });
    const ask = async () => {
      const pool = new Pool(`http://rebind.example:${port}`, { connect });
      closers.push(() => pool.destroy());
      return (await pool.request({ method: 'GET', path: '/' })).body.text();
    };
    expect(await ask()).toContain('rebind.example');
    await expect(ask()).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
  });

  it('a certificate for another name is rejected, as without the proxy', async () => {
    toThisMachine();
    const port = await site(true);
    await expect(get(`https://other.example:${port}/`)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('a configured host is resolved by the proxy', async () => {
    toThisMachine();
    const port = await site(true);
    expect(await get(`https://localhost:${port}/`, { configured: true })).toContain('localhost');
    expect(proxy.asked).toEqual([`localhost:${port}`]);
  });

  it('a host excepted from the proxy is reached directly, under the same rules', async () => {
    const port = await site(false);
    const options = { addresses: ['127.0.0.1'], noProxy: 'near.example' };
    expect(await get(`http://near.example:${port}/`, { ...options, allow: '127.0.0.0/8' })).toContain('near');
    await expect(get(`http://near.example:${port}/`, options)).rejects.toMatchObject({
      code: 'ADDRESS_REFUSED',
    });
    expect(proxy.asked).toEqual([]);
  });

  it('the proxy itself may use TLS; its certificate is verified', async () => {
    const trusted = getCACertificates('default');
    await proxy.close();
    proxy = await startConnectProxy(testCertificate);
    proxy.route = () => '127.0.0.1';
    const port = await site(true);
    await expect(get(`https://localhost:${port}/`)).rejects.toThrow(
      'the egress proxy cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)',
    );
    setDefaultCACertificates([...trusted, testCertificate.cert]);
    try {
      expect(await get(`https://localhost:${port}/`)).toBe(`localhost localhost:${port}`);
    } finally {
      setDefaultCACertificates(trusted);
    }
    expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
  });

  it('the proxy gets its credentials, and the destination does not', async () => {
    toThisMachine();
    proxy.demanded = 'Basic Y2xvdWQ6c2VjcmV0';
    const headers: string[] = [];
    const server = createHttp((request, response) => {
      headers.push(...request.rawHeaders.map((text) => text.toLowerCase()));
      response.end('in');
    });
    const url = `http://shop.example:${await listen(server)}/`;
    expect(await get(url, { authorization: proxy.demanded })).toBe('in');
    expect(headers).not.toContain('proxy-authorization');
  });
});

describe('an egress proxy that fails is named as the reason', () => {
  const reason = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (error: NodeJS.ErrnoException) => `${error.code}: ${error.message}`,
    );
  const url = 'http://shop.example:80/';

  it('unavailable', async () => {
    await proxy.close();
    expect(await reason(get(url))).toBe('EGRESS_PROXY: the egress proxy cannot be reached (ECONNREFUSED)');
  });

  it('wrong credentials', async () => {
    proxy.demanded = 'Basic b3RoZXI6b25l';
    expect(await reason(get(url, { authorization: 'Basic Y2xvdWQ6c2VjcmV0' }))).toBe(
      'EGRESS_PROXY: the egress proxy demands other credentials (407)',
    );
    expect(proxy.asked).toHaveLength(1);
  });

  it('a destination that the proxy rejects', async () => {
    proxy.conduct = { status: 403 };
    expect(await reason(get(url))).toBe('EGRESS_PROXY: the egress proxy refuses this destination (403)');
  });

  it('a destination that the proxy cannot reach', async () => {
    proxy.route = () => undefined;
    expect(await reason(get(url))).toBe('EGRESS_PROXY: the egress proxy answered 502 instead of a tunnel');
  });

  it('no answer: fails after the connect timeout', async () => {
    proxy.conduct = 'silent';
    const time = createFakeTime();
    const failure = reason(get(url, { connectTimeoutMs: 5000, time }));
    await waitFor('the request to the proxy', () => proxy.asked.length === 1);
    await time.advance(5000);
    expect(await failure).toMatch(/^EGRESS_PROXY: the egress proxy opened no tunnel within \d+ ms$/);
    expect(proxy.asked).toHaveLength(1);
  });

  it('no answer to TLS behind the tunnel: fails after the connect timeout', async () => {
    toThisMachine();
    const port = await listen(createTcp((socket) => socket.resume()));
    expect(await reason(get(`https://localhost:${port}/`, { connectTimeoutMs: 2000 }))).toBe(
      'undefined: no TLS handshake within 2000 ms, through the egress proxy',
    );
    await waitFor('the tunnel is closed', () => proxy.tunnels() === 0);
  });

  it('an invalid answer', async () => {
    proxy.conduct = 'garbage';
    expect(await reason(get(url))).toMatch(
      /^EGRESS_PROXY: the egress proxy gave an answer that cannot be read \(HTTPParserError\)$/,
    );
  });

  it('a connection that ends without an answer', async () => {
    proxy.conduct = 'hang up';
    expect(await reason(get(url))).toBe(
      'EGRESS_PROXY: the egress proxy closed the connection without an answer',
    );
  });

  it('a DNS lookup that never ends: fails after the connect timeout', async () => {
    const connect = createConnector({
      ...{ connectTimeoutMs: 100, rules: addressRules([]), resolve: () => new Promise(() => {}) },
      proxy: { origin: proxy.origin, bypass: () => false },
    });
    const pool = new Pool('http://slow.example', { connect });
    closers.push(() => pool.destroy());
    expect(await reason(pool.request({ method: 'GET', path: '/' }))).toContain('within 100 ms');
  });
});

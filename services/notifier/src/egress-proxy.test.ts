import {
  type ConnectProxy,
  type ProxyConduct,
  startConnectProxy,
} from '@headset-cloud/outbound/testing/connect-proxy.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, key, status, useWorld } from './testing/fixture.ts';

const use = useWorld();
let proxy: ConnectProxy;
beforeEach(async () => {
  proxy = await startConnectProxy();
});
afterEach(() => proxy.close());

const credentials = 'cloud:secret-of-the-proxy';
const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;

/** A notifier behind the proxy. Its integrator has a public address that leads to this machine. */
async function behindProxy(env: Record<string, string> = {}) {
  const server = await use.integrator();
  const { port } = new URL(server.origin);
  use.world.destinations.set('a-1', { url: `http://shop.example:${port}/callbacks`, authenticationKey: key });
  proxy.route = () => '127.0.0.1';
  proxy.demanded = authorization;
  const notifier = await use.world.start(
    {
      // Only public addresses are allowed, so every request that arrives here came through the proxy.
      NOTIFIER_ALLOW_ADDRESSES: '192.0.2.1/32',
      EGRESS_PROXY: proxy.origin,
      EGRESS_PROXY_CREDENTIALS: credentials,
      ...env,
    },
    { resolve: async (hostname) => (hostname === 'shop.example' ? ['93.184.215.14'] : ['10.0.0.1']) },
  );
  /** Empty if it is not stored yet, or not tried. */
  const lastError = async (notificationId: string) => {
    const found = await notifier.admin.getDelivery({ notificationId }).catch(() => undefined);
    return found?.delivery?.lastOutcome ?? '';
  };
  return { server, port, notifier, lastError };
}

test('a callback is sent through the proxy, to the checked address', async () => {
  const { server, port } = await behindProxy();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it has arrived', () => server.received.length === 1);
  expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
});

test('signed URLs are requested through the proxy, too', async () => {
  const { server, port, notifier } = await behindProxy();
  await notifier.signedUrls
    .requestSignedUrls({
      applicationId: 'a-1',
      setting: 'fileUploadGetUrl',
      body: Buffer.from('{}'),
      maxAnswerBytes: 1000,
    })
    .catch(() => {});
  expect(server.arrivals).toHaveLength(1);
  expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
});

// protects against callbacks/ssrf-proxy
test('a test callback is sent through the proxy, too, and not to a private address', async () => {
  const { server, port, notifier } = await behindProxy();
  const send = (applicationId: string) =>
    notifier.tests.sendTestCallback({
      caller: { clientId: 'c', applicationId },
      ...{ destination: 'deviceEvent', body: Buffer.from('{}') },
    });
  expect((await send('a-1')).attempt).toMatchObject({ statusCode: 204, reason: '' });
  expect(server.arrivals).toHaveLength(1);
  expect(proxy.asked).toEqual([`93.184.215.14:${port}`]);
  use.world.destinations.set('a-2', { url: 'http://internal.example/', authenticationKey: key });
  expect((await send('a-2')).attempt?.reason).toBe(
    'The host name has no public address. Callbacks are sent to public addresses only.',
  );
  expect(proxy.asked).toHaveLength(1);
});

// protects against callbacks/ssrf-proxy
test('a private address is rejected before the proxy is used, and the delivery has the reason', async () => {
  const { lastError } = await behindProxy();
  use.world.destinations.set('a-2', { url: 'http://internal.example/', authenticationKey: key });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-2' });
  await waitFor('an attempt', async () => (await lastError('n-1')) !== '');
  expect(await lastError('n-1')).toBe('ADDRESS_REFUSED: the address is not public');
  expect(proxy.asked).toEqual([]);
});

const troubles: [string, { conduct?: ProxyConduct; demanded?: string }, RegExp][] = [
  ['demands other credentials', { demanded: 'Basic b3RoZXI=' }, /demands other credentials \(407\)$/],
  ['refuses the destination', { conduct: { status: 403 } }, /refuses this destination \(403\)$/],
  ['cannot reach the destination', { conduct: { status: 504 } }, /answered 504 instead of a tunnel$/],
  ['never answers', { conduct: 'silent' }, /opened no tunnel within \d+ ms$/],
  ['answers garbage', { conduct: 'garbage' }, /gave an answer that cannot be read \(\w+\)$/],
  ['hangs up', { conduct: 'hang up' }, /closed the connection without an answer$/],
];

test.each(troubles)(
  'a proxy that %s is the last error of the delivery, which is retried until it succeeds',
  async (_, trouble, said) => {
    // Only a proxy that never answers needs a short time-out.
    const { server, notifier, lastError } = await behindProxy(
      trouble.conduct === 'silent' ? { NOTIFIER_CONNECT_TIMEOUT_MS: '1000' } : {},
    );
    Object.assign(proxy, trouble);
    await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
    await waitFor('a second attempt', () => proxy.asked.length >= 2);
    await waitFor('its outcome', async () => (await lastError('n-1')) !== '');
    expect(await lastError('n-1')).toMatch(said);
    expect(await lastError('n-1')).toMatch(/^EGRESS_PROXY: the egress proxy /);
    expect(await lastError('n-1')).not.toContain('secret-of-the-proxy');
    expect(await status(notifier, 'n-1')).toBe('pending');
    Object.assign(proxy, { conduct: 'open', demanded: authorization });
    await waitFor('it has arrived', () => ids(server).includes('n-1'));
  },
);

test('an unavailable proxy is the last error of the delivery', async () => {
  const { notifier, lastError } = await behindProxy();
  await proxy.close();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('an attempt', async () => (await lastError('n-1')) !== '');
  expect(await lastError('n-1')).toBe('EGRESS_PROXY: the egress proxy cannot be reached (ECONNREFUSED)');
  expect(await status(notifier, 'n-1')).toBe('pending');
});

test('an exception is reached without the proxy', async () => {
  const server = await use.integrator();
  const { port } = new URL(server.origin);
  use.world.destinations.set('a-1', { url: `http://near.example:${port}/`, authenticationKey: key });
  await use.world.start(
    { EGRESS_PROXY: proxy.origin, EGRESS_NO_PROXY: 'near.example' },
    { resolve: async () => ['127.0.0.1'] },
  );
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it has arrived', () => ids(server).includes('n-1'));
  expect(proxy.asked).toEqual([]);
});

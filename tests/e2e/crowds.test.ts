import { once } from 'node:events';
import { type ClientHttp2Session, connect as http2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { mintToken } from '@headset-cloud/demo/headset/identity.ts';
import { HeadsetLinkService } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { instancesWanted } from './instances.ts';

/** Streams without a hello; a longer manual test uses more. */
const crowdOfStreams = Number(process.env['CROWD'] || 1000);
/** A listener's name and address, and a path with the status that a new client gets for it. */
type Listener = [string, () => string, string, number];

describeOnStack('crowds at the listeners', () => {
  let tenant: Tenant;
  let attacker: Tenant;
  const sockets: Socket[] = [];
  const sessions: ClientHttp2Session[] = [];
  beforeAll(async () => {
    [tenant, attacker] = [await createTenant(), await createTenant()];
    await tenant.activate();
    tenant.headset().connect();
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const session of sessions.splice(0)) session.destroy();
  });
  afterAll(() => Promise.all([tenant.close(), attacker.close()]));

  /** Opens connections that send nothing, or only the beginning of a request. */
  async function crowd(url: string, many: number): Promise<void> {
    const { hostname, port } = new URL(url);
    for (let i = 0; i < many; i++) {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on('error', () => {});
      await once(socket, 'connect');
      if (i % 2) socket.write('GET / HTTP/1.1\r\nhost: a\r\nx: ');
    }
  }
  /** The status of a request on a new connection; 0: the connection was closed. */
  const status = async (url: string) =>
    fetch(url, { headers: { connection: 'close' } }).then(
      (answer) => answer.status,
      () => 0,
    );

  const files: Listener = ['files', () => stack.filesUrl, '/a', 403];
  // protects against rest/crowd, sora/crowd
  it.each<Listener>([
    ['the API', () => stack.apiUrl, '/v1/applications/a', 401],
    ["Sora's webhooks", () => stack.soraWebhookUrl, '/webhooks/sora/a', 405],
    // With S3 the platform serves no files itself.
    ...(stack.kind === 'embedded' ? [files] : []),
  ])(
    '%s: a thousand connections without a request do not block other clients',
    async (_, url, path, answer) => {
      await crowd(url(), 1000);
      await waitFor('the answer to a new client', async () => (await status(url() + path)) === answer);
      expect(await tenant.ended(await tenant.command())).toMatchObject({ result: 'success' });
    },
  );

  // protects against headsets/crowd
  it('headsets: a thousand connections without a stream do not lock out other clients', async () => {
    await crowd(`http://${stack.deviceLinkUrl}`, 1000);
    const newcomer = await createTenant();
    await newcomer.activate();
    newcomer.headset().connect();
    expect(await newcomer.ended(await newcomer.command())).toMatchObject({ result: 'success' });
    await newcomer.close();
  });

  // protects against headsets/crowd
  it('headsets: streams without a hello do not lock out other clients (CROWD=5000)', async () => {
    const authorization = `Bearer ${mintToken(attacker.devices[0] as HeadsetKeyFile, 'headset-cloud/device-link', Date.now())}`;
    let ended = 0;
    for (let i = 0; i < crowdOfStreams / 100; i++) {
      const session = http2(`http://${stack.deviceLinkUrl}`);
      sessions.push(session);
      session.on('error', () => {});
      await once(session, 'connect');
      for (let n = 0; n < 100; n++) {
        const stream = session.request({
          ...{ ':method': 'POST', ':path': `/${HeadsetLinkService.typeName}/Connect`, authorization },
          ...{ 'content-type': 'application/grpc', te: 'trailers' },
        });
        stream.on('error', () => {});
        stream.on('close', () => {
          ended += 1;
        });
        stream.resume();
      }
    }
    const newcomer = await createTenant();
    await newcomer.activate();
    newcomer.headset().connect();
    expect(await newcomer.ended(await newcomer.command())).toMatchObject({ result: 'success' });
    await newcomer.close();
    // Each instance keeps only the newest waiting stream of one key.
    const left = stack.kind === 'real' ? instancesWanted() : 1;
    await waitFor('the end of the other streams', () => ended >= crowdOfStreams - left, {
      timeoutMs: 50_000,
    });
  });
});

import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { constants, connect as http2 } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { Client, credentials, status } from '@grpc/grpc-js';
import { RawHeadset } from '@headset-cloud/device-link/testing/raw-headset.ts';
import { HeadsetLinkService } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import jwt from 'jsonwebtoken';
import { createTenant, describeOnStack, imei, stack, type Tenant } from './harness.ts';

const audience = 'headset-cloud/device-link';
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describeOnStack('hostile headsets', () => {
  let tenant: Tenant;
  let victim: Tenant;
  let attacker: HeadsetKeyFile;
  let target: HeadsetKeyFile;
  const open: RawHeadset[] = [];
  /** All data of the victim, and its number of callbacks. */
  const everything = async () => [await victim.transactions(), victim.integrator.arrivals.length];
  let before: unknown[];

  beforeAll(async () => {
    tenant = await createTenant();
    victim = await createTenant();
    attacker = tenant.devices[0] as HeadsetKeyFile;
    target = victim.devices[0] as HeadsetKeyFile;
    await victim.activate();
    await victim.command();
    before = await everything();
  });
  afterEach(async () => {
    for (const headset of open.splice(0)) headset.close();
    expect(await everything()).toEqual(before);
  });
  afterAll(async () => {
    // The victim's headset connects, and all waiting transactions work.
    const ids = (await victim.transactions()).map((t) => t.transactionId);
    victim.headset().connect();
    for (const id of ids) expect(await victim.ended(id)).toMatchObject({ result: 'success' });
    await Promise.all([tenant.close(), victim.close()]);
  });

  const connect = (authorization?: string): RawHeadset => {
    const made = new RawHeadset(Number(stack.deviceLinkUrl.split(':')[1]), authorization);
    open.push(made);
    return made;
  };
  const token = (
    by: HeadsetKeyFile,
    claims: object = {},
    header: object = {},
    key: string = by.privateKeyPem,
  ) => {
    const iat = now();
    const payload = JSON.parse(
      JSON.stringify({ sub: by.deviceId, aud: audience, iat, exp: iat + 120, ...claims }),
    );
    const made = jwt.sign(payload, key, {
      algorithm: 'ES256',
      header: { alg: 'ES256', kid: by.keyId, ...header },
    });
    return `Bearer ${made}`;
  };
  async function session(by = attacker): Promise<RawHeadset> {
    const headset = connect(token(by));
    headset.hello();
    await headset.next('welcome');
    return headset;
  }
  const now = () => Math.floor(Date.now() / 1000);
  const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  const hs256 = () => {
    const text = `${b64({ alg: 'HS256', kid: target.keyId })}.${b64({ sub: target.deviceId, aud: audience, iat: now(), exp: now() + 120 })}`;
    const key = createPublicKey(target.privateKeyPem).export({ type: 'spki', format: 'pem' });
    return `Bearer ${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  };

  // protects against headsets/token-none, headsets/token-forged, headsets/token-times, headsets/token-audience
  // protects against headsets/token-names, headsets/other-device-token
  it.each<[string, () => string | undefined]>([
    ['no token', () => undefined],
    ['garbage', () => 'Bearer garbage'],
    ['Basic', () => 'Basic YTpi'],
    ['another key under the right key id', () => token(target, {}, {}, foreign)],
    ['another device’s id with its own key', () => token(attacker, { sub: target.deviceId })],
    [
      'another device’s id and key id with its own key',
      () => token(attacker, { sub: target.deviceId }, { kid: target.keyId }),
    ],
    ['an unknown device', () => token(attacker, { sub: imei() })],
    ['an unknown key id', () => token(attacker, {}, { kid: 'none' })],
    ['the key id __proto__', () => token(attacker, {}, { kid: '__proto__' })],
    ['an operator as the device', () => token(attacker, { sub: undefined, id: { $ne: '' } })],
    ['expired', () => token(attacker, { iat: now() - 400, exp: now() - 200 })],
    ['not yet valid', () => token(attacker, { iat: now() + 300, exp: now() + 400 })],
    ['valid for an hour', () => token(attacker, { exp: now() + 3600 })],
    ['for another audience', () => token(attacker, { aud: 'urn:headset-cloud:api' })],
    [
      'unsigned',
      () =>
        `Bearer ${b64({ alg: 'none', kid: target.keyId })}.${b64({ sub: target.deviceId, aud: audience, iat: now(), exp: now() + 120 })}.`,
    ],
    ['HS256 under the public key', hs256],
  ])('the token %s ends with UNAUTHENTICATED and the server’s time', async (_, authorization) => {
    const fromMs = Date.now();
    const headset = connect(authorization());
    headset.hello();
    const end = await headset.ended(status.UNAUTHENTICATED);
    const serverTimeMs = Number(end.metadata.get('x-server-time-ms')[0]);
    expect(serverTimeMs).toBeGreaterThanOrEqual(fromMs);
    expect(serverTimeMs).toBeLessThanOrEqual(Date.now());
    expect(headset.received).toEqual([]);
  });

  // protects against rest/token-of-headset, headsets/token-audience
  it('an API token is not valid for headsets, and a headset’s token is not valid for the API', async () => {
    connect(`Bearer ${await tenant.api.token()}`).hello();
    await (open[0] as RawHeadset).ended(status.UNAUTHENTICATED);
    const answer = await tenant.api.app('GET', '', undefined, { authorization: token(attacker) });
    expect(answer.status).toBe(401);
  });

  // protects against headsets/protocol
  it('a first message other than hello ends with INVALID_ARGUMENT', async () => {
    const headset = connect(token(attacker));
    headset.ready(1);
    await headset.ended(status.INVALID_ARGUMENT);
  });

  // protects against headsets/hello
  it.each<[string, object, status]>([
    ['of another version', { protocolVersion: 2 }, status.FAILED_PRECONDITION],
    ['without a version', { protocolVersion: 0 }, status.FAILED_PRECONDITION],
    ['with a version of 65 characters', { clientVersion: 'x'.repeat(65) }, status.INVALID_ARGUMENT],
    ['that holds transaction 0', { held: [{ transactionId: 0n }] }, status.INVALID_ARGUMENT],
    ['that holds transaction -1', { held: [{ transactionId: -1n }] }, status.INVALID_ARGUMENT],
    ['that holds transaction 2^53', { held: [{ transactionId: 2n ** 53n }] }, status.INVALID_ARGUMENT],
  ])('a hello %s is refused', async (_, hello, code) => {
    const headset = connect(token(attacker));
    headset.hello(hello);
    await headset.ended(code);
    expect(headset.received).toEqual([]);
  });

  // protects against headsets/protocol, headsets/large-message
  it.each<[string, (headset: RawHeadset) => void, status]>([
    ['a second hello', (h) => h.hello(), status.INVALID_ARGUMENT],
    ['bytes that are no message', (h) => h.sendBytes(Buffer.alloc(64, 0xff)), status.INVALID_ARGUMENT],
    ['a message cut short', (h) => h.sendBytes(Buffer.of(0x1a, 0x7f, 0x08)), status.INVALID_ARGUMENT],
    ['an empty message', (h) => h.sendBytes(Buffer.alloc(0)), status.INVALID_ARGUMENT],
    ['an unknown kind', (h) => h.sendBytes(Buffer.of(0xfa, 0x01, 0x00)), status.INVALID_ARGUMENT],
    ['a message of 300 KiB', (h) => h.sendBytes(Buffer.alloc(300 * 1024, 1)), status.INVALID_ARGUMENT],
    ['a message of 8 MiB', (h) => h.sendBytes(Buffer.alloc(8 * 1024 * 1024, 1)), status.RESOURCE_EXHAUSTED],
    ['ready for transaction 0', (h) => h.ready(0), status.INVALID_ARGUMENT],
    ['report 0', (h) => h.result(0, 1), status.INVALID_ARGUMENT],
    ['a result of transaction -1', (h) => h.result(1, -1), status.INVALID_ARGUMENT],
    [
      'a report of nothing',
      (h) => h.send({ case: 'report', value: { reportId: 1n } }),
      status.INVALID_ARGUMENT,
    ],
    [
      'invalid UTF-8 in a text',
      (h) => h.sendBytes(Buffer.from('1a0a08011a0608011a02c328', 'hex')),
      status.INVALID_ARGUMENT,
    ],
  ])('in a session, %s ends the stream as the headset’s own fault', async (_, break_, code) => {
    const headset = await session();
    break_(headset);
    await headset.ended(code);
    // The device itself can still connect.
    await session();
  });

  // protects against headsets/other-transaction
  it('ready for another device’s transaction is answered with drop and starts nothing', async () => {
    const headset = await session();
    const [first] = await victim.transactions();
    headset.ready(first?.transactionId ?? 0);
    const drop = await headset.next('drop');
    expect(Number(drop.transactionId)).toBe(first?.transactionId);
    // The answer is the same for a transaction that does not exist.
    headset.ready(2 ** 52 + 1);
    expect((await headset.next('drop')).reason).toBe(drop.reason);
  });

  // protects against headsets/other-result
  it('results, answers and held lists with another device’s transactions are acknowledged without an effect', async () => {
    const list = await victim.transactions();
    const headset = connect(token(attacker));
    headset.hello({
      held: list.map((t) => ({ transactionId: BigInt(t.transactionId), state: 3 })),
      activationEpoch: 2n ** 53n - 1n,
    });
    await headset.next('welcome');
    let reportId = Date.now();
    for (const { transactionId } of list) {
      headset.result(reportId++, transactionId);
      headset.send({
        case: 'report',
        value: {
          reportId: BigInt(reportId++),
          body: {
            case: 'appAnswer',
            value: { transactionId: BigInt(transactionId), success: true, message: 'x' },
          },
        },
      });
    }
    const last = reportId - 1;
    await waitFor('the acknowledgement', () =>
      headset.received.some((b) => b.case === 'reportAck' && Number(b.value.reportId) >= last),
    );
    // The services process these reports before the attacker's own result.
    await tenant.activate();
    const offer = await waitFor('the offer', () =>
      headset.received.flatMap((b) => (b.case === 'offer' ? [b.value] : [])).at(0),
    );
    headset.ready(Number(offer.transactionId));
    headset.result(reportId++, Number(offer.transactionId));
    await tenant.ended(Number(offer.transactionId));
  });

  // protects against headsets/report-values
  it('invalid values in a report are omitted, and the report is acknowledged', async () => {
    const headset = connect(token(attacker));
    headset.hello();
    const { activation } = await headset.next('welcome');
    // Reports of another activation would not be visible at all.
    const activationEpoch = activation?.epoch ?? 0n;
    const reportId = BigInt(Date.now());
    headset.send({
      case: 'report',
      value: {
        ...{ reportId, activationEpoch },
        occurredAtMs: -(2n ** 62n),
        body: {
          case: 'stateChange',
          value: {
            power: '$where',
            wearing: '',
            charging: 'x'.repeat(1000),
            batteryPercentage: 4_000_000_000,
            location: { latitude: Number.NaN, longitude: 1e300 },
          },
        },
      },
    });
    await waitFor('the acknowledgement', () =>
      headset.received.some((b) => b.case === 'reportAck' && b.value.reportId >= reportId),
    );
    // Reports of a headset are stored in order: once this report is visible, the previous one was processed.
    const inventory = { firmwareVersion: '9.9.9', apps: [], languages: [] };
    headset.send({
      case: 'report',
      value: {
        ...{ reportId: reportId + 1n, activationEpoch, occurredAtMs: BigInt(Date.now()) },
        body: { case: 'inventory', value: inventory },
      },
    });
    const shown = await waitFor('the next report', async () => {
      const { body } = await tenant.call(200, 'GET', `/devices/${attacker.deviceId}/status`);
      return body.firmware?.version === inventory.firmwareVersion && body;
    });
    expect(shown).toMatchObject({
      ...{ power: null, wearing: null, charging: null, batteryPercentage: null, latitude: null },
    });
  });

  // protects against headsets/bomb
  it.each(['with a token', 'without a token'])(
    'a compressed message of 64 MiB is rejected, %s',
    async (who) => {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
      const frame = Buffer.alloc(5);
      frame.writeUInt8(1);
      frame.writeUInt32BE(bomb.length, 1);
      const connection = http2(`http://${stack.deviceLinkUrl}`);
      connection.on('error', () => {});
      const stream = connection.request({
        ...{ ':method': 'POST', ':path': `/${HeadsetLinkService.typeName}/Connect` },
        ...{ 'content-type': 'application/grpc', te: 'trailers', 'grpc-encoding': 'gzip' },
        ...(who === 'with a token' && { authorization: token(attacker) }),
      });
      stream.on('error', () => {});
      stream.resume();
      stream.write(Buffer.concat([frame, bomb]));
      const code = await new Promise<unknown>((resolve) => {
        const see = (headers: Record<string, unknown>) => {
          if (headers['grpc-status'] !== undefined) resolve(headers['grpc-status']);
        };
        stream.on('response', see).on('trailers', see);
        stream.on('close', () => resolve(status.CANCELLED));
      });
      connection.destroy();
      expect(Number(code)).toBe(who === 'with a token' ? status.RESOURCE_EXHAUSTED : status.UNAUTHENTICATED);
      await session();
    },
  );

  // protects against headsets/stream-flood
  it('one connection opens no more streams than its limit, and floods of resets do not affect others', async () => {
    const flood = http2(`http://${stack.deviceLinkUrl}`);
    flood.on('error', () => {});
    await once(flood, 'remoteSettings');
    expect(flood.remoteSettings.maxConcurrentStreams).toBeLessThanOrEqual(100);
    const authorization = token(attacker);
    for (let i = 0; i < 5000 && !flood.closed; i++) {
      const stream = flood.request({
        ...{ ':method': 'POST', ':path': `/${HeadsetLinkService.typeName}/Connect`, authorization },
        ...{ 'content-type': 'application/grpc', te: 'trailers' },
      });
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      // At the speed of the connection, so that each stream is really sent.
      if (i % 100 === 99) await new Promise(setImmediate);
    }
    await session();
    flood.destroy();
  });

  // protects against headsets/other-service
  it.each([
    '/headset.device_link.v1.DeliveryService/Deliver',
    '/headset.devices.v1.DevicesService/ActivateDevice',
    '/headset.devices.v1.DevicesAdminService/ListDevelopers',
    '/headset.transactions.v1.TransactionsService/CreateTransaction',
    '/headset.device_link.v1.HeadsetLinkService/Nothing',
  ])('the headsets’ listener does not serve %s', async (method) => {
    const client = new Client(stack.deviceLinkUrl, credentials.createInsecure());
    const bytes = (b: Buffer) => b;
    const code = await new Promise((resolve) => {
      client.makeUnaryRequest(method, bytes, bytes, Buffer.alloc(0), (error) => resolve(error?.code));
    });
    client.close();
    expect(code).toBe(status.UNIMPLEMENTED);
  });
});

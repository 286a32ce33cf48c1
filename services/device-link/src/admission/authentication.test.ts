import { createSecretKey, generateKeyPairSync } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import jwt, { type SignOptions } from 'jsonwebtoken';
import { deviceId, type Instance, otherDeviceId, World } from '../testing/world.ts';

let world: World;
let instance: Instance;
beforeEach(async () => {
  world = new World();
  instance = await world.start();
});
afterEach(() => world.close());

const nowS = () => Math.floor(Date.now() / 1000);

function sign(
  claims: Record<string, unknown>,
  options: SignOptions = {},
  key = world.privateKey(deviceId),
): string {
  return `Bearer ${jwt.sign(claims, key, {
    algorithm: 'ES256',
    keyid: 'k1',
    subject: deviceId,
    audience: 'headset-cloud/device-link',
    ...options,
  })}`;
}

const valid = () => ({ iat: nowS(), exp: nowS() + 120 });
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const refused: Record<string, () => string> = {
  'no token': () => '',
  'not a bearer token': () => 'Basic YTpi',
  garbage: () => 'Bearer a.b.c',
  "a key that is not the device's": () =>
    sign(valid(), {}, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
  "another device's key": () => sign(valid(), {}, world.privateKey(otherDeviceId)),
  'an unknown key id': () => sign(valid(), { keyid: 'k2' }),
  'no key id': () => `Bearer ${base64({ alg: 'ES256' })}.${base64(valid())}.AAAA`,
  'a key id of Object.prototype': () => sign(valid(), { keyid: 'constructor' }),
  'an unknown device': () => sign(valid(), { subject: '350000000000000' }),
  'a subject that is no IMEI': () => sign(valid(), { subject: 'device-1' }),
  'another audience': () => sign(valid(), { audience: 'somebody-else' }),
  'alg none': () =>
    `Bearer ${base64({ alg: 'none', kid: 'k1' })}.${base64({ ...valid(), sub: deviceId, aud: 'headset-cloud/device-link' })}.`,
  'HS256 under the public key': () => {
    const pem = world.keys?.[deviceId]?.['k1'] as string;
    return sign(valid(), { algorithm: 'HS256' }, createSecretKey(Buffer.from(pem)));
  },
  // rule A24
  'an expired token': () => sign({ iat: nowS() - 300, exp: nowS() - 61 }),
  'a token from the future': () => sign({ iat: nowS() + 65, exp: nowS() + 120 }),
  'a token that lives too long': () => sign({ iat: nowS(), exp: nowS() + 301 }),
  'a token without an end': () => sign({ iat: nowS() }),
  'a token that ends before it begins': () => sign({ iat: nowS() + 30, exp: nowS() + 10 }),
};

// protects against headsets/token-forged, headsets/token-times, headsets/token-names
describe('rejects a headset, and returns the server time, for', () => {
  it.each(Object.keys(refused))('%s', async (name) => {
    const token = (refused[name] as () => string)();
    const fromMs = Date.now();
    const headset = world.dial(instance, { token, hello: {} });
    const end = await headset.ended(status.UNAUTHENTICATED);
    const serverTimeMs = Number(end.metadata.get('x-server-time-ms')[0]);
    expect(serverTimeMs).toBeGreaterThanOrEqual(fromMs);
    expect(serverTimeMs).toBeLessThanOrEqual(Date.now());
    expect(headset.received).toEqual([]);
    expect(world.online).toEqual([]);
    expect(await world.reports()).toEqual([]);
  });
});

describe('accepts a headset', () => {
  it.each<[string, () => object]>([
    ['with a token that its key signed', valid],
    ['with a clock that is 50 s ahead', () => ({ iat: nowS() + 50, exp: nowS() + 100 })],
    ['with a clock that is 50 s behind', () => ({ iat: nowS() - 110, exp: nowS() - 50 })],
    ['with the longest lifetime', () => ({ iat: nowS(), exp: nowS() + 300 })],
  ])('%s', async (_, claims) => {
    const fromMs = Date.now();
    const headset = world.dial(instance, { token: sign(claims() as Record<string, unknown>), hello: {} });
    const welcome = await headset.next('welcome');
    expect(welcome.sessionEpoch).toBe(1n);
    expect(Number(welcome.serverTimeMs)).toBeGreaterThanOrEqual(fromMs);
    expect(Number(welcome.serverTimeMs)).toBeLessThanOrEqual(Date.now());
  });

  it('not while devices is unavailable: the status names a retry delay', async () => {
    world.keys = undefined;
    const end = await world.dial(instance, { hello: {} }).ended(status.UNAVAILABLE);
    expect(Number(end.metadata.get('x-retry-after-ms')[0])).toBeGreaterThan(0);
  });

  it('not without a hello in time', async () => {
    const headset = world.dial(instance);
    await waitFor('the end of the stream', async () => {
      world.clock.offsetMs += 1000;
      return headset.end !== undefined;
    });
    await headset.ended(status.DEADLINE_EXCEEDED);
  });

  it('not with another protocol version', async () => {
    const headset = world.dial(instance, { hello: { protocolVersion: 2 } });
    await headset.ended(status.FAILED_PRECONDITION);
    expect(world.online).toEqual([]);
  });
});

describe('refused streams are counted by reason, and logged with address and device, at a limited rate', () => {
  const counted = async (reason: string) => {
    const text = await world.metrics.getSingleMetricAsString('headset_streams_refused_total');
    return Number(new RegExp(`reason="${reason}"\\} (\\d+)`).exec(text)?.[1]);
  };
  const refusals = () => world.lines.filter(({ msg }) => msg === 'a stream of a headset was refused');

  // protects against headsets/log-flood
  it('for an invalid token', async () => {
    for (let i = 0; i < 20; i++) {
      await world.dial(instance, { token: 'Basic YTpi', hello: {} }).ended(status.UNAUTHENTICATED);
    }
    expect(await counted('token')).toBe(20);
    expect(refusals()[0]).toMatchObject({
      ...{ reason: 'token', address: '127.0.0.1' },
      details: expect.stringContaining('authorization must be'),
    });
    expect(refusals().length).toBeLessThan(5);
  });

  it('with the device that the token names', async () => {
    const token = sign(valid(), { subject: '350000000000000' });
    await world.dial(instance, { token, hello: {} }).ended(status.UNAUTHENTICATED);
    expect(refusals()).toEqual([expect.objectContaining({ reason: 'token', deviceId: '350000000000000' })]);
    expect(JSON.stringify(world.lines)).not.toContain(token.slice('Bearer '.length));
  });

  it('for an invalid hello; an accepted stream is not counted', async () => {
    await world.dial(instance, { hello: {} }).next('welcome');
    expect(refusals()).toEqual([]);
    await world.dial(instance, { hello: { protocolVersion: 2 } }).ended(status.FAILED_PRECONDITION);
    expect(await counted('protocol')).toBe(1);
    expect(refusals()).toEqual([
      expect.objectContaining({ reason: 'protocol', deviceId, address: '127.0.0.1' }),
    ]);
  });

  it('because tokens cannot be checked', async () => {
    world.keys = undefined;
    await world.dial(instance, { hello: {} }).ended(status.UNAVAILABLE);
    expect(await counted('unavailable')).toBe(1);
    expect(refusals()).toEqual([expect.objectContaining({ reason: 'unavailable', deviceId })]);
  });
});

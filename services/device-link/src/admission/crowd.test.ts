import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, World } from '../testing/world.ts';

let world: World;
let instance: Instance;
const sockets: Socket[] = [];
const newcomers = Array.from({ length: 14 }, (_, i) => `35000000000${String(1000 + i)}`);

beforeEach(async () => {
  world = new World();
  for (const id of newcomers) world.registerKey(id, 'k1');
  instance = await world.start({
    ...{ DEVICE_LINK_MAX_SESSIONS: 2, DEVICE_LINK_MAX_WAITING: 10 },
    // A connection may be replaced after 30 % of this time.
    DEVICE_LINK_HELLO_DEADLINE_MS: 10_000,
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await world.close();
});

const rejected = async (reason: string): Promise<number> => {
  const found = new RegExp(`rejected_connections_total{listener="headsets",reason="${reason}"} (\\d+)`);
  return Number(found.exec(await world.metrics.metrics())?.[1] ?? 0);
};

it('silent connections keep no headset from connecting, and end no session', async () => {
  const inside = world.dial(instance, { hello: {} });
  await inside.next('welcome');
  const half = async () => {
    const socket = connect(instance.service.linkPort(), '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
  };
  for (let i = 0; i < 300; i++) await half();
  await waitFor('the rejection of the others', async () => {
    const ended = (await rejected('full')) + (await rejected('replaced'));
    return ended >= 289;
  });
  // The first attempts may come before the other connections are old enough to be replaced.
  const [newcomer = ''] = newcomers;
  let headset = world.dial(instance, { id: newcomer, hello: {} });
  await waitFor('the session of the headset', () => {
    if (headset.end) headset = world.dial(instance, { id: newcomer, hello: {} });
    return headset.received.length > 0;
  });
  await headset.next('welcome');
  expect(await rejected('replaced')).toBeGreaterThan(0);
  expect(inside.end).toBeUndefined();
});

it('a stream that sends a hello replaces streams without a hello', async () => {
  const [first = '', ...others] = newcomers;
  const proxy = world.dial(instance, { id: first });
  const silent = [proxy, ...others.map((id) => world.dial(instance, { id, beside: proxy }))];
  await waitFor('the end of the oldest streams', () => silent.filter((one) => one.end).length === 2);
  const ended = silent.filter((one) => one.end);
  for (const one of ended) {
    const { metadata } = await one.ended(status.UNAVAILABLE);
    expect(metadata.get('x-retry-after-ms')).toEqual(['5000']);
  }
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  expect(silent.filter((one) => one.end)).toHaveLength(3);
});

it('has at most DEVICE_LINK_MAX_SESSIONS sessions, also if many headsets connect at once', async () => {
  const headsets = newcomers.slice(0, 8).map((id) => world.dial(instance, { id, hello: {} }));
  const withSession = () => headsets.filter((one) => one.received.length > 0);
  const rejectedOnes = () => headsets.filter((one) => one.end);
  await waitFor('each headset', () => withSession().length + rejectedOnes().length === headsets.length);
  expect(withSession()).toHaveLength(2);
  for (const one of rejectedOnes()) await one.ended(status.UNAVAILABLE);
});

// protects against headsets/crowd
it('only the newest stream of a headset waits for its hello', async () => {
  const both = [world.dial(instance), world.dial(instance)];
  const ended = await waitFor('the end of one stream', () => both.find((one) => one.end));
  await ended.ended(status.UNAVAILABLE);
  const [left] = both.filter((one) => one !== ended);
  left?.hello();
  await left?.next('welcome');
  expect(world.online.map((request) => request.deviceId)).toEqual([deviceId]);
});

import { getEventListeners } from 'node:events';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { pino } from 'pino';
import { GrpcChannel, RpcServer } from './grpc.ts';
import { LocalChannel } from './local.ts';
import { bind, type Channel, createClient, type RpcBinding } from './types.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function local(bindings: RpcBinding[]): Channel {
  const channel = new LocalChannel();
  channel.register(bindings);
  return channel;
}

async function network(bindings: RpcBinding[]): Promise<Channel> {
  const server = new RpcServer(bindings, pino({ level: 'silent' }));
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  closers.push(() => server.stop(0));
  closers.push(() => channel.close());
  return channel;
}

test.each([
  ['in the same process', local],
  ['over the network', network],
])('a call %s leaves no listener at the signal of its caller', async (_, open) => {
  let answer = async () => ({});
  const channel = await open([bind(BillingService, { getBill: () => answer() })]);
  const client = createClient(BillingService, channel);
  const { signal } = new AbortController();
  await client.getBill({}, { signal });
  answer = async () => Promise.reject(new Error('failed'));
  await expect(client.getBill({}, { signal })).rejects.toMatchObject({ code: 'internal' });
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('an error of a call in the same process names the service and the call to operators only', async () => {
  const time = createFakeTime();
  const channel = new LocalChannel(time);
  const client = createClient(BillingService, channel, { deadlineMs: 100 });
  await expect(client.getBill({})).rejects.toMatchObject({
    code: 'unavailable',
    message: 'A service cannot be reached.',
    internal: expect.stringContaining(BillingService.typeName),
    retryAfterMs: 1000,
  });
  channel.register([bind(BillingService, { getBill: () => new Promise(() => {}) })]);
  const call = expect(client.getBill({})).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'A service took too long.',
    internal: expect.stringContaining('GetBill'),
    retryAfterMs: 1000,
  });
  await time.advance(100);
  await call;
});

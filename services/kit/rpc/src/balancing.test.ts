import { createRequire } from 'node:module';
import { type DnsServer, startDns } from '@headset-cloud/outbound/testing/dns-server.ts';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { connectionAge, GrpcChannel, RpcServer } from './grpc.ts';
import { bind, type Client, createClient, type Handlers } from './types.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const longAge = 3_600_000;

/** Pods behind a headless Service: servers on separate addresses with one port, found by one name. */
let dns: DnsServer;
let channel: GrpcChannel;
let communication: Client<typeof CommunicationService>;
let billing: Client<typeof BillingService>;
let port: number;
let running: RpcServer[];
/** Addresses of the called pods, in order. */
let asked: string[];
/** Awaited by every handler. */
let work: (address: string) => Promise<void>;

// grpc-js queries the name server of the target only in this mode; in the other mode the operating system resolves.
const environment = createRequire(import.meta.url)('@grpc/grpc-js/build/src/environment.js') as {
  GRPC_NODE_USE_ALTERNATIVE_RESOLVER: boolean;
};
const asBefore = environment.GRPC_NODE_USE_ALTERNATIVE_RESOLVER;
beforeAll(() => {
  environment.GRPC_NODE_USE_ALTERNATIVE_RESOLVER = true;
});
afterAll(() => {
  environment.GRPC_NODE_USE_ALTERNATIVE_RESOLVER = asBefore;
});

beforeEach(async () => {
  [port, running, asked, work] = [0, [], [], async () => {}];
  dns = await startDns();
});
afterEach(async () => {
  await channel.close();
  await Promise.all(running.map((server) => server.stop(0)));
  dns.close();
});

async function pod(address: string, { ageMs = longAge, serving = true } = {}): Promise<RpcServer> {
  const handler = async () => {
    asked.push(address);
    await work(address);
  };
  const server = new RpcServer(
    [
      bind(CommunicationService, {
        async createChannel() {
          await handler();
          return { channelId: address };
        },
      } as Partial<Handlers<typeof CommunicationService>> as Handlers<typeof CommunicationService>),
      bind(BillingService, {
        async getBill() {
          await handler();
          return {};
        },
      }),
    ],
    logger,
    connectionAge(ageMs),
  );
  port = await server.listen({ host: address, port });
  if (serving) server.serve();
  running.push(server);
  return server;
}

function connect(): void {
  channel = new GrpcChannel(`dns://127.0.0.1:${dns.port}/pods.test:${port}`);
  communication = createClient(CommunicationService, channel);
  billing = createClient(BillingService, channel);
}

const [a, b, c, d] = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4'] as const;

test('a rolling restart of two pods loses no call, and calls wait less than for the periodic DNS lookup', async () => {
  const pods = new Map([
    [a, await pod(a)],
    [b, await pod(b)],
  ]);
  dns.addresses = [a, b];
  connect();
  work = () => new Promise((resolve) => setImmediate(resolve));
  const failures: unknown[] = [];
  let over = false;
  // Makes calls that may not be retried once they have begun. The periodic DNS lookup happens after 30 s: a call that
  // waits for it fails at its deadline.
  const load = async () => {
    while (!over) await communication.createChannel({}, { deadlineMs: 20_000 });
  };
  const loads = Array.from({ length: 5 }, () => load().catch((error) => failures.push(error)));
  await waitFor('a call to each pod', () => asked.includes(a) && asked.includes(b));
  for (const [old, fresh] of [
    [a, c],
    [b, d],
  ] as const) {
    // An orchestrator with a limit of two pods: the old pod stops before the new pod starts.
    dns.addresses = dns.addresses.filter((address) => address !== old);
    await pods.get(old)?.stop(2000);
    await pod(fresh);
    dns.addresses = [...dns.addresses, fresh];
  }
  const seen = asked.length;
  await waitFor('answers of the new pods', () => failures.length > 0 || asked.length > seen + 50);
  over = true;
  await Promise.all(loads);
  expect(failures).toEqual([]);
  expect(new Set(asked.slice(seen))).not.toContain(a);
});

test('an added pod gets calls after the connections to the other pods reach their maximum age', async () => {
  await pod(a, { ageMs: 500 });
  dns.addresses = [a];
  connect();
  await communication.createChannel({});
  await pod(b, { ageMs: 500 });
  dns.addresses = [a, b];
  await waitFor('a call to the added pod', async () => {
    await communication.createChannel({});
    return asked.includes(b);
  });
});

test('a call that reaches a pod while it starts is answered when the pod serves', async () => {
  const starting = await pod(a, { serving: false });
  dns.addresses = [a];
  connect();
  const call = communication.createChannel({}, { deadlineMs: 30_000 });
  await waitFor('the call to arrive', () => starting.inProgress > 0);
  starting.serve();
  expect(await call).toMatchObject({ channelId: a });
});

test('a call waits for a connection if there is none', async () => {
  const first = await pod(a);
  dns.addresses = [a];
  connect();
  await communication.createChannel({});
  await first.stop(0);
  const call = communication.createChannel({}, { deadlineMs: 30_000 });
  await pod(b);
  dns.addresses = [b];
  expect(await call).toMatchObject({ channelId: b });
});

test.each([
  ['a repeatable call goes to another', () => billing.getBill({}), 'answered', 2],
  ['another call is not repeated', () => communication.createChannel({}), 'unavailable', 1],
])('when a pod dies under a call, %s', async (_, call, outcome, times) => {
  const pods = { [a]: await pod(a), [b]: await pod(b) };
  dns.addresses = [a, b];
  connect();
  await communication.createChannel({});
  asked = [];
  work = async (address) => {
    if (asked[0] === address) await new Promise(() => {});
  };
  const answered = call().then(
    () => 'answered',
    (error) => error.code,
  );
  await waitFor('the call to reach a pod', () => asked.length === 1);
  await pods[asked[0] as typeof a]?.stop(0);
  expect(await answered).toBe(outcome);
  expect(asked).toHaveLength(times);
});

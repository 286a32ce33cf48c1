import { once } from 'node:events';
import { connect } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { timeLeft } from '@headset-cloud/runtime/deadline.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { GrpcChannel, RpcServer } from './grpc.ts';
import { LocalChannel } from './local.ts';
import { bind, type Channel, type Client, createClient, type Handlers } from './types.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
type Bill = Handlers<typeof BillingService>['getBill'];
type Billing = Client<typeof BillingService>;

/** The two kinds of channel: over the network, or in one process. */
const ways: [string, () => { serve(handler: Bill): Promise<Channel>; close(): Promise<void> }][] = [
  [
    'gRPC',
    () => {
      const open: { stop(): Promise<void> }[] = [];
      return {
        async serve(getBill) {
          const server = new RpcServer([bind(BillingService, { getBill })], logger);
          const port = await server.start({ host: '127.0.0.1', port: 0 });
          const channel = new GrpcChannel(`127.0.0.1:${port}`);
          open.push({ stop: () => channel.close().then(() => server.stop(0)) });
          return channel;
        },
        close: async () => {
          await Promise.all(open.map((one) => one.stop()));
        },
      };
    },
  ],
  [
    'one process',
    () => ({
      async serve(getBill) {
        const channel = new LocalChannel();
        channel.register([bind(BillingService, { getBill })]);
        return channel;
      },
      close: async () => {},
    }),
  ],
];

describe.each(ways)('deadlines over %s', (_, make) => {
  let way: ReturnType<typeof make>;
  /** Time left in each call when it reached the last service. */
  let reached: (number | undefined)[];
  /** Handler of the last service, with or without an answer. */
  let last: Billing;
  let stalled: boolean;
  beforeEach(async () => {
    way = make();
    reached = [];
    stalled = false;
    last = createClient(
      BillingService,
      await way.serve(() => {
        reached.push(timeLeft());
        return stalled ? new Promise(() => {}) : Promise.resolve({});
      }),
    );
  });
  afterEach(() => way.close());

  /** A service in between; the test supplies its handler. */
  const between = async (handler: Bill) => createClient(BillingService, await way.serve(handler));

  test('a nested call ends at the deadline of its parent call, however long its own deadline is', async () => {
    const first = await between(async () => last.getBill({}, { deadlineMs: 60_000 }).then(() => ({})));
    const second = await between(async () => first.getBill({}, { deadlineMs: 60_000 }).then(() => ({})));
    await second.getBill({}, { deadlineMs: 30_000 });
    expect(reached[0]).toBeLessThanOrEqual(30_000);
    expect(reached[0]).toBeGreaterThan(0);
    stalled = true;
    await waitFor('a call that reaches the last service', async () => {
      await expect(second.getBill({}, { deadlineMs: 200 })).rejects.toMatchObject({
        code: 'deadline_exceeded',
      });
      return reached.length > 1;
    });
    expect(reached[1]).toBeLessThanOrEqual(200);
  });

  test('no call is started after its caller has given up', async () => {
    let outcome: unknown;
    let warm = false;
    const first = await between(async () => {
      if (!warm) return {};
      await waitFor('the deadline', () => (timeLeft() ?? 1) <= 0, { intervalMs: 1 });
      outcome = await last.getBill({}).catch((error: unknown) => error);
      return new Promise<never>(() => {});
    });
    // The connection exists, so the call is handled well before its deadline.
    await first.getBill({}, { deadlineMs: 30_000 });
    warm = true;
    await waitFor('the end', async () => {
      await expect(first.getBill({}, { deadlineMs: 1000 })).rejects.toMatchObject({
        code: 'deadline_exceeded',
      });
      return outcome !== undefined;
    });
    expect(outcome).toMatchObject({ code: 'deadline_exceeded' });
    expect(reached).toEqual([]);
  });

  test('a handler’s signal reports that its caller gave up, before or after the handler reads it', async () => {
    const seen: Promise<unknown>[] = [];
    const gone = Promise.withResolvers<void>();
    let warm = false;
    const server = await between(async (_, context) => {
      if (!warm) return {};
      const { promise, resolve } = Promise.withResolvers<unknown>();
      const left = () => resolve(context.signal.reason?.message);
      // The first handler reads the signal at once, the second after its caller gave up.
      if (seen.push(promise) === 1) context.signal.addEventListener('abort', left);
      else void gone.promise.then(() => waitFor('the abort', () => context.signal.aborted)).then(left);
      return new Promise<never>(() => {});
    });
    // The connection exists, so both calls are handled well before their deadlines.
    await server.getBill({}, { deadlineMs: 30_000 });
    warm = true;
    await waitFor('two calls that reach the handler', async () => {
      await expect(server.getBill({}, { deadlineMs: 500 })).rejects.toMatchObject({
        code: 'deadline_exceeded',
      });
      return seen.length === 2;
    });
    gone.resolve();
    expect(await Promise.all(seen)).toEqual(Array(2).fill('the caller waits no longer'));
  });

  test('a handler sees that its caller gave up', async () => {
    const stop = new AbortController();
    const leftMs = Promise.withResolvers<number | undefined>();
    const server = await between(async (_, { signal }) => {
      const aborted = once(signal, 'abort');
      stop.abort();
      await aborted;
      leftMs.resolve(timeLeft());
      return {};
    });
    server.getBill({}, { deadlineMs: 30_000, signal: stop.signal }).catch(() => {});
    expect(await leftMs.promise).toBeGreaterThan(0);
  });

  test('work that continues after the answer has a separate deadline', async () => {
    let later: Promise<unknown> | undefined;
    const answered = Promise.withResolvers<void>();
    const first = await between(async () => {
      later = answered.promise.then(() => last.getBill({}, { deadlineMs: 60_000 }));
      return {};
    });
    await first.getBill({}, { deadlineMs: 20_000 });
    answered.resolve();
    await later;
    expect(reached[0]).toBeGreaterThan(20_000);
  });

  test('a dependency that stalls is called no more often than the callers call', async () => {
    stalled = true;
    const first = await between(() => last.getBill({}).then(() => ({})));
    const second = await between(() => first.getBill({}).then(() => ({})));
    const calls = 100;
    const outcomes = await Promise.allSettled(
      Array.from({ length: calls }, () => second.getBill({}, { deadlineMs: 300 })),
    );
    expect(outcomes.filter((one) => one.status === 'rejected')).toHaveLength(calls);
    expect(reached.length / calls).toBeLessThanOrEqual(1.2);
  });
});

test('a call is not handled after its deadline', async () => {
  let handled = 0;
  const getBill = async () => {
    handled += 1;
    return {};
  };
  const server = new RpcServer([bind(BillingService, { getBill })], logger);
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const call = (timeout: string) =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/headset.billing.v1.BillingService/GetBill',
          'content-type': 'application/grpc',
          te: 'trailers',
          'grpc-timeout': timeout,
        });
        stream.on('error', reject);
        const statusOf = (headers: Record<string, unknown>) => {
          if (headers['grpc-status'] !== undefined) resolve(Number(headers['grpc-status']));
        };
        stream.on('response', statusOf);
        stream.on('trailers', statusOf);
        stream.resume();
        // An empty message.
        stream.end(Buffer.alloc(5));
      });
    expect(await call('10S')).toBe(status.OK);
    expect(handled).toBe(1);
    expect(await call('1n')).toBe(status.DEADLINE_EXCEEDED);
    expect(handled).toBe(1);
  } finally {
    session.destroy();
    await server.stop(0);
  }
});

import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { isTransient } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { pino } from 'pino';
import { GrpcChannel, methodDefinition, RpcServer } from './grpc.ts';
import { bind, type Client, createClient } from './types.ts';

/** A peer of another version or another program: plain grpc-js, without the platform's error codes. */
async function peer(answer: ((callback: sendUnaryData<unknown>) => void) | undefined) {
  const server = new Server();
  if (answer) {
    const definition = { getBill: methodDefinition(BillingService.method.getBill) };
    server.addService(definition, {
      getBill: (_: unknown, callback: sendUnaryData<unknown>) => answer(callback),
    });
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  return {
    client: createClient(BillingService, channel) as Client<typeof BillingService>,
    close: async () => {
      await channel.close();
      server.forceShutdown();
    },
  };
}

test.each<[string, Parameters<typeof peer>[0]]>([
  ['that does not know the call (an older version)', undefined],
  ['that answers UNIMPLEMENTED', (done) => done({ code: status.UNIMPLEMENTED })],
  ['that answers UNKNOWN without an error code of the platform', (done) => done({ code: status.UNKNOWN })],
  ['that is unavailable', (done) => done({ code: status.UNAVAILABLE })],
  // Messages of grpc-js for a connection that ends while a call starts on it.
  ...[
    'Write error: write after end',
    'Failed to start HTTP/2 stream with error The session has been destroyed',
  ].map((details): [string, Parameters<typeof peer>[0]] => [
    `of which grpc-js says ${details}`,
    (done) => done({ code: status.INTERNAL, details }),
  ]),
])('a call to a peer %s is retried like a call to an unavailable peer', async (_, answer) => {
  const { client, close } = await peer(answer);
  try {
    const failure = await client.getBill({}).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
    expect(isTransient(failure)).toBe(true);
  } finally {
    await close();
  }
});

test.each([
  ['NO_ERROR', 0],
  ['INTERNAL_ERROR', 2],
  ['CANCEL', 8],
])('a stream that ends without an answer (%s) is a peer that cannot be reached', async (_, code) => {
  // As the last connections of a process that ends; grpc-js reports some of them as INTERNAL.
  const server = createServer((_request, response) => response.stream.close(code));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const channel = new GrpcChannel(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    const failure = await createClient(BillingService, channel)
      .getBill({})
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  } finally {
    await channel.close();
    server.close();
  }
});

// protects against headsets/log-disclosure
test('rejected metadata of a caller, including a token, is not logged', async () => {
  const logged: string[] = [];
  const server = new RpcServer([], pino({ level: 'trace' }, { write: (line) => logged.push(line) }));
  const printed: unknown[] = [];
  const print = jest.spyOn(console, 'error').mockImplementation((...words) => void printed.push(words));
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const connection = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = connection.request({
      ...{
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
      },
      authorization: 'Bearer secret-\u00e9',
    });
    stream.end(Buffer.alloc(5));
    await new Promise((resolve) => stream.on('close', resolve).resume());
    expect([printed, logged.filter((line) => line.includes('secret-'))]).toEqual([[], []]);
  } finally {
    print.mockRestore();
    connection.destroy();
    await server.stop(0);
  }
});

test('calls in progress have a limit at the caller and at the service; further calls are rejected with a retry time', async () => {
  const most = 10_000;
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const server = new RpcServer(
    [
      bind(BillingService, {
        getBill: async () => {
          begun += 1;
          await gate.promise;
          return {};
        },
      }),
    ],
    pino({ level: 'silent' }),
  );
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const [channel, other] = [new GrpcChannel(`127.0.0.1:${port}`), new GrpcChannel(`127.0.0.1:${port}`)];
  const deadlineMs = 60_000;
  const refused = expect.objectContaining({ code: 'unavailable', retryAfterMs: 1000 });
  try {
    const client = createClient(BillingService, channel, { deadlineMs });
    const calls = Array.from({ length: most }, () => client.getBill({}));
    await expect(client.getBill({})).rejects.toEqual(refused);
    await waitFor('all at the service', () => begun === most, { timeoutMs: 20_000 });
    await expect(createClient(BillingService, other, { deadlineMs }).getBill({})).rejects.toEqual(refused);
    expect(begun).toBe(most);
    gate.resolve();
    await Promise.all(calls);
    await client.getBill({});
  } finally {
    gate.resolve();
    await Promise.all([channel.close(), other.close(), server.stop(100)]);
  }
}, 60_000);

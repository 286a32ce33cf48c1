import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import {
  type ConnectRequest,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';

type Body = ConnectRequest['body'];

/** Sends one message to a headset. */
export type Send = (body: MessageInitShape<typeof ConnectResponseSchema>['body']) => void;

/**
 * A bare grpc-js server for the headsets' stream, with device-link's keepalive options: it welcomes every
 * headset and passes later messages on. `streams` are the welcomed ones.
 */
export async function serveHeadsets(
  take: (body: Body, send: Send) => unknown = () => {},
): Promise<{ readonly address: string; readonly streams: readonly Send[] }> {
  const streams: Send[] = [];
  const server = new Server({ 'grpc.keepalive_time_ms': 20_000, 'grpc.keepalive_timeout_ms': 8_000 });
  server.addService(
    { connect: methodDefinition(HeadsetLinkService.method.connect) },
    {
      connect: (call: ServerDuplexStream<ConnectRequest, ConnectResponse>) => {
        const send: Send = (body) => void call.write(create(ConnectResponseSchema, { body }));
        call.once('data', () => {
          streams.push(send);
          const value = { sessionEpoch: 1n, serverTimeMs: BigInt(Date.now()), ackedReportId: 0n };
          send({ case: 'welcome', value });
          call.on('data', ({ body }: ConnectRequest) => take(body, send));
        });
        call.on('end', () => call.end());
        call.on('error', () => {});
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { address: `127.0.0.1:${port}`, streams };
}

import { create } from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { methodDefinition } from '@headset-cloud/kit/rpc/grpc.ts';
import {
  type ConnectRequest,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import { serveCommands } from '../lib/worker.ts';

/**
 * Floor of the idle measure: a bare grpc-js server that welcomes the same simulated headsets on the
 * same stream, with device-link's keepalive options, and knows nothing about them.
 */
let streams = 0;
const commands = {
  start: async (_: object): Promise<string> => {
    const server = new Server({ 'grpc.keepalive_time_ms': 20_000, 'grpc.keepalive_timeout_ms': 8_000 });
    server.addService(
      { connect: methodDefinition(HeadsetLinkService.method.connect) },
      {
        connect: (call: ServerDuplexStream<ConnectRequest, ConnectResponse>) => {
          call.once('data', () => {
            streams += 1;
            const value = { sessionEpoch: 1n, serverTimeMs: BigInt(Date.now()), ackedReportId: 0n };
            call.write(create(ConnectResponseSchema, { body: { case: 'welcome', value } }));
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
    return `127.0.0.1:${port}`;
  },
  streams: async (_: object) => streams,
};
export type IdleFloor = typeof commands;
serveCommands(commands);

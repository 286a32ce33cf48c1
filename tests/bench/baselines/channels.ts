import { create } from '@bufbuild/protobuf';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import {
  CommunicationService,
  type CreateChannelRequest,
  type CreateChannelResponse,
  CreateChannelResponseSchema,
} from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';
import { serveCommands } from '../lib/worker.ts';

/**
 * Baseline of the channels measure: a bare gRPC method with the platform's own messages, which answers
 * at once and stores nothing.
 */
const commands = {
  /** Returns host:port. */
  start: async (_: object): Promise<string> => {
    let made = 0;
    const server = new Server();
    server.addService(
      { create: methodDefinition(CommunicationService.method.createChannel) },
      {
        create: (
          _call: { request: CreateChannelRequest },
          answer: (error: null, response: CreateChannelResponse) => void,
        ) => {
          made += 1;
          const channelId = `baseline${String(made).padStart(10, '0')}_${Date.now()}`;
          const endpointUrl = 'wss://baseline.example.com/signaling';
          answer(null, create(CreateChannelResponseSchema, { channelId, endpointUrl }));
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
};
export type ChannelsBaseline = typeof commands;
serveCommands(commands);

import { create, type Message } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import {
  CommunicationService,
  CreateChannelRequestSchema,
  type CreateChannelResponse,
} from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';
import { closedLoop } from './arrivals.ts';
import { createSender } from './http.ts';

/** The target of requests for channels: an integrator's call, or the baseline's bare gRPC method. */
export type ChannelTarget =
  | { readonly origin: string; readonly token: string; readonly applicationId: string }
  | { readonly grpc: string };

/** Callers that request channels one after the other; returns each call's milliseconds, in ascending order. */
export async function askForChannels(o: {
  target: ChannelTarget;
  soraVersion: string;
  callers: number;
  seconds: number;
}): Promise<number[]> {
  const { ask, close } =
    'grpc' in o.target ? overGrpc(o.target, o.soraVersion) : overHttp(o.target, o.soraVersion, o.callers);
  const times: number[] = [];
  const ids = new Set<string>();
  const { done } = await closedLoop(o.callers, o.seconds, async () => {
    const began = performance.now();
    ids.add(await ask());
    times.push(performance.now() - began);
  });
  await close();
  if (ids.size !== done) throw new Error(`${done} calls made ${ids.size} channels`);
  return times.sort((a, b) => a - b);
}

function overHttp(
  target: { origin: string; token: string; applicationId: string },
  soraVersion: string,
  callers: number,
) {
  const sender = createSender(target.origin, callers, { authorization: `Bearer ${target.token}` });
  const path = `/v1/applications/${target.applicationId}/channels`;
  const body = JSON.stringify({ soraVersion });
  return {
    ask: async (): Promise<string> => JSON.parse(await sender.send('POST', path, 201, body)).channelId,
    close: () => sender.close(),
  };
}

function overGrpc(target: { grpc: string }, soraVersion: string) {
  const client = new Client(target.grpc, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = methodDefinition(
    CommunicationService.method.createChannel,
  );
  const request: Message = create(CreateChannelRequestSchema, { soraVersion });
  return {
    ask: () =>
      new Promise<string>((resolve, reject) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) =>
          error ? reject(error) : resolve((answer as CreateChannelResponse).channelId),
        );
      }),
    close: async () => client.close(),
  };
}

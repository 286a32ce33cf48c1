import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { MethodDefinition, ServerDuplexStream } from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';
import { limits } from '../domain/limits.ts';

/** A message that could not be decoded; the stream ends with INVALID_ARGUMENT and this reason. */
export class UnreadableMessage {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

export type Incoming = ConnectRequest | UnreadableMessage;
export type LinkCall = ServerDuplexStream<Incoming, ConnectResponse>;

/**
 * The stream's method. grpc-js ends a stream with INTERNAL if a message cannot be decoded. This method returns
 * UnreadableMessage instead, so that the status names an error of the headset.
 */
export const connectMethod: MethodDefinition<Incoming, ConnectResponse> = {
  ...(methodDefinition(HeadsetLinkService.method.connect) as unknown as MethodDefinition<
    Incoming,
    ConnectResponse
  >),
  requestDeserialize: (data) => {
    if (data.length > limits.maxMessageBytes) {
      return new UnreadableMessage(`a message is larger than ${limits.maxMessageBytes} bytes`);
    }
    try {
      return fromBinary(ConnectRequestSchema, data);
    } catch {
      return new UnreadableMessage('a message is not a ConnectRequest');
    }
  },
  responseSerialize: (message) => {
    const bytes = toBinary(ConnectResponseSchema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  },
};

/**
 * Maximum message length of grpc-js; bytes. grpc-js rejects a longer message with RESOURCE_EXHAUSTED as soon as it
 * reads the length, before the message is in memory. A message between `maxMessageBytes` and this limit ends the stream
 * with INVALID_ARGUMENT.
 */
export const transportLimitBytes = 2 * limits.maxMessageBytes;

/**
 * Resets the stream of a headset that reads neither data nor the end of the stream. grpc-js has no public way to
 * reset one stream from the server. A stream that is not reset keeps its memory as long as the headset answers pings.
 */
export function resetStream(call: LinkCall): void {
  const inner = (call as unknown as { call?: { stream?: { close?: (code: number) => void } } }).call;
  const http2Cancel = 8;
  inner?.stream?.close?.(http2Cancel);
  call.destroy();
}

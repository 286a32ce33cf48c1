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

/** A message that could not be read; the stream ends with INVALID_ARGUMENT and this reason. */
export class UnreadableMessage {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

export type Incoming = ConnectRequest | UnreadableMessage;
export type LinkCall = ServerDuplexStream<Incoming, ConnectResponse>;

/**
 * The stream's method. Unlike grpc-js, which ends a stream with INTERNAL when a message cannot be
 * read, it hands the problem on, so that the headset is told that the fault is its own.
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
 * Above this grpc-js itself refuses a message by its announced length, with RESOURCE_EXHAUSTED,
 * without ever holding it; between the two limits the stream ends with INVALID_ARGUMENT.
 */
export const transportLimitBytes = 2 * limits.maxMessageBytes;

/**
 * Cuts off a peer that takes neither data nor the end of its stream: grpc-js offers no public way to
 * reset one stream from the server, and a stream that is not reset holds its memory for as long as
 * the peer answers pings.
 */
export function cutOff(call: LinkCall): void {
  const inner = (call as unknown as { call?: { stream?: { close?: (code: number) => void } } }).call;
  const cancelCode = 8;
  inner?.stream?.close?.(cancelCode);
  call.destroy();
}

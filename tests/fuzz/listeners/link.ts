import { type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { mintToken } from '@headset-cloud/demo/headset/identity.ts';
import {
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';

export type Body = MessageInitShape<typeof ConnectRequestSchema>['body'];
export const path = `/${HeadsetLinkService.typeName}/Connect`;

export const encode = (body: Body): Buffer =>
  Buffer.from(toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { body })));

export const hello = (more: object = {}): Body => ({
  case: 'hello',
  value: { protocolVersion: 1, clientVersion: '3.4.0', firmwareVersion: '9.001.0', ...more },
});

const lastRequest = 2n ** 64n - 2n;
/** Requests a URL with an invalid ticket: the rejection comes at once, and nothing changes. */
export const sentinel = encode({
  case: 'urlRequest',
  value: { requestId: lastRequest, about: { case: 'downloadTicket', value: Buffer.from('none') } },
});

/** Returns a message with gRPC's prefix. */
export function frame(message: Buffer, flag = 0, length = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

export const authorizationOf = (device: HeadsetKeyFile): string =>
  `Bearer ${mintToken(device, 'headset-cloud/device-link', Date.now())}`;

export const rightHeaders = (device: HeadsetKeyFile): Record<string, string> => ({
  ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
  authorization: authorizationOf(device),
});

/** End of a stream, or its state when the sentinel was answered. */
export interface StreamEnd {
  /** HTTP status; undefined: none. */
  readonly http: number | undefined;
  /** gRPC status; undefined: none. */
  readonly grpc: number | undefined;
  readonly message: string;
  /** True if the sentinel was answered. */
  readonly isAlive: boolean;
  readonly isClosed: boolean;
}

/** A stream on bare HTTP/2 on a separate connection. */
export interface Link {
  readonly stream: ClientHttp2Stream;
  /** Resolves when the stream has ended, when the answer to the sentinel has arrived, or after `ms`. */
  over(ms: number): Promise<StreamEnd>;
  close(): void;
}

/** Opens a stream. Throws if Node.js rejects the headers. */
export function openLink(address: string, headers: OutgoingHttpHeaders): Link {
  const connection = connect(`http://${address}`);
  connection.on('error', () => {});
  let http: number | undefined;
  let grpc: number | undefined;
  let message = '';
  let isAlive = false;
  let isClosed = false;
  let wake = () => {};
  let stream: ClientHttp2Stream;
  try {
    stream = connection.request(headers);
  } catch (error) {
    connection.destroy();
    throw error;
  }
  const see = (seen: Record<string, unknown>) => {
    if (seen[':status'] !== undefined) http = Number(seen[':status']);
    if (seen['grpc-status'] === undefined) return;
    grpc = Number(seen['grpc-status']);
    message = String(seen['grpc-message'] ?? '');
    wake();
  };
  let unread: Buffer = Buffer.alloc(0);
  stream.on('error', () => {});
  stream.on('response', see).on('trailers', see);
  stream.on('data', (data: Buffer) => {
    unread = Buffer.concat([unread, data]);
    while (unread.length >= 5 && unread.length >= 5 + unread.readUInt32BE(1)) {
      const end = 5 + unread.readUInt32BE(1);
      const { body }: ConnectResponse = fromBinary(ConnectResponseSchema, unread.subarray(5, end));
      unread = unread.subarray(end);
      if (body.case === 'urlAnswer' && body.value.requestId === lastRequest) isAlive = true;
    }
    if (isAlive) wake();
  });
  const closed = () => {
    isClosed = true;
    wake();
  };
  stream.on('close', closed);
  connection.on('close', closed);
  return {
    stream,
    async over(ms) {
      if (!isAlive && !isClosed && grpc === undefined) {
        await new Promise<void>((resolve) => {
          const late = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(late);
            resolve();
          };
        });
      }
      return { http, grpc, message, isAlive, isClosed };
    },
    close() {
      // Do not leave the connection open at the peer.
      connection.destroy();
    },
  };
}

/** Statuses that blame the server without a specific reason. */
const serversFault: readonly number[] = [status.UNKNOWN, status.INTERNAL, status.DATA_LOSS];
/** gRPC requires INTERNAL for these: an unknown time limit or compression. */
const asDemanded = /^Invalid grpc-timeout|ompress|encoding/;

/** Returns the problem of a status that a headset must not be able to cause. */
export function wrongStatus({ grpc, message }: StreamEnd): string | undefined {
  const text = decodeURIComponent(message.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25'));
  if (grpc === undefined || !serversFault.includes(grpc) || asDemanded.test(text)) return undefined;
  return `the stream ended with ${status[grpc]}: ${text}`;
}

export const kindOf = ({ grpc, http, isAlive, isClosed }: StreamEnd): string =>
  grpc !== undefined
    ? (status[grpc] ?? String(grpc))
    : isAlive
      ? 'alive'
      : isClosed
        ? `closed ${http ?? ''}`
        : 'open';

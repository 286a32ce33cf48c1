import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type StatusObject,
  type status,
} from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** The end of a stream (protocol page, "Ends and errors"). */
export interface StreamEnd {
  readonly code: status;
  readonly details: string;
  /** Trailer `x-server-time-ms`; 0 if absent. */
  readonly serverTimeMs: number;
  /** Trailer `x-retry-after-ms`; 0 if absent. */
  readonly retryAfterMs: number;
}

/** Callbacks of a stream. Neither is called before `open` has returned. */
export interface StreamEvents {
  received(message: ConnectResponse): void;
  ended(end: StreamEnd): void;
}

export interface Stream {
  /** Sends a message. Calls `sent` when the message is passed to the network. */
  send(message: ConnectRequest, sent?: () => void): void;
  /** Closes the headset's side of the stream. */
  end(): void;
  /** Ends the stream without waiting for the cloud. */
  cancel(): void;
}

/** The headset's connection to the cloud. To use another gRPC library, implement this interface. */
export interface Connection {
  /** Opens the stream of the next session; connects if necessary. */
  open(token: string, events: StreamEvents): Stream;
  /** Closes the connection, so that the next stream opens a new one. */
  renew(): void;
  close(): void;
}

const path = `/${HeadsetLinkService.typeName}/${HeadsetLinkService.method.connect.name}`;

/** A connection with grpc-js. Each headset has its own, like a real headset. */
export class GrpcConnection implements Connection {
  readonly #dial: () => Client;
  #client: Client;

  /** `ca`: certificate authorities (PEM) for the server's certificate; absent: no TLS. */
  constructor(server: string, options: ChannelOptions = {}, ca?: string) {
    const allOptions = {
      // Protocol page, "Connecting": a ping every 20 s, with an answer within 8 s.
      'grpc.keepalive_time_ms': 20_000,
      'grpc.keepalive_timeout_ms': 8_000,
      'grpc.keepalive_permit_without_calls': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
      ...options,
    };
    const secured = ca === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca));
    this.#dial = () => new Client(server, secured, allOptions);
    this.#client = this.#dial();
  }

  open(token: string, { received, ended }: StreamEvents): Stream {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    const call = this.#client.makeBidiStreamRequest(
      path,
      (message: ConnectRequest) => bytes(toBinary(ConnectRequestSchema, message)),
      (data: Buffer) => fromBinary(ConnectResponseSchema, data),
      metadata,
    );
    call.on('data', received);
    // Without a listener, grpc-js throws the error. The status has the same content.
    call.on('error', () => {});
    call.on('status', (end: StatusObject) => {
      const trailer = (name: string) => Number(end.metadata.get(name)[0] ?? 0);
      const { code, details } = end;
      const retryAfterMs = trailer('x-retry-after-ms');
      ended({ code, details, serverTimeMs: trailer('x-server-time-ms'), retryAfterMs });
    });
    return {
      send: (message, sent) => void call.write(message, sent),
      end: () => void call.end(),
      cancel: () => call.cancel(),
    };
  }

  renew(): void {
    this.#client.close();
    this.#client = this.#dial();
  }

  close(): void {
    this.#client.close();
  }
}

function bytes(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type ChannelOptions, Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

export type LineCall = ClientDuplexStream<ConnectRequest, ConnectResponse>;

const path = `/${HeadsetLinkService.typeName}/${HeadsetLinkService.method.connect.name}`;

function bytes(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** A headset's own connection to the cloud; each headset has one, as real ones do. */
export class Line {
  readonly #dial: () => Client;
  #client: Client;

  /** `ca`: the authorities (PEM) that the server's certificate must be of; without it the line is plaintext. */
  constructor(server: string, options: ChannelOptions = {}, ca?: string) {
    const allOptions = {
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

  /** Closes the connection, so that the next stream opens a new one. */
  renew(): void {
    this.#client.close();
    this.#client = this.#dial();
  }

  /** Opens the stream. */
  connect(token: string): LineCall {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    return this.#client.makeBidiStreamRequest(
      path,
      (message: ConnectRequest) => bytes(toBinary(ConnectRequestSchema, message)),
      (data: Buffer) => fromBinary(ConnectResponseSchema, data),
      metadata,
    );
  }

  close(): void {
    this.#client.close();
  }
}

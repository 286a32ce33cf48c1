import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import {
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  HeadsetLinkService,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

type Body = MessageInitShape<typeof ConnectRequestSchema>['body'];
type Kind = NonNullable<ConnectResponse['body']['case']>;
type ValueOf<K extends Kind> = Extract<ConnectResponse['body'], { case: K }>['value'];

/** A stream whose messages a test writes and reads one by one. */
export class RawHeadset {
  readonly received: ConnectResponse['body'][] = [];
  /** How the stream ended; undefined while it is open. */
  end: StatusObject | undefined;
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Uint8Array, ConnectResponse>;
  #read = 0;

  /**
   * Opens a connection, or uses the connection of another headset, as behind a proxy. `neverReads`: its HTTP/2
   * window stays at 0, so no message of the cloud and no end of the stream reaches it.
   */
  constructor(port: number, token: string | undefined, beside?: RawHeadset, neverReads = false) {
    this.#client = beside
      ? beside.#client
      : new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
          'grpc.use_local_subchannel_pool': 1,
          'grpc.enable_retries': 0,
          ...(neverReads && { 'grpc-node.flow_control_window': 0 }),
        });
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', token);
    this.#call = this.#client.makeBidiStreamRequest(
      `/${HeadsetLinkService.typeName}/Connect`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => fromBinary(ConnectResponseSchema, bytes),
      metadata,
    );
    this.#call.on('data', (message: ConnectResponse) => this.received.push(message.body));
    this.#call.on('error', (_: ServiceError) => {});
    this.#call.on('status', (end: StatusObject) => {
      this.end = end;
    });
  }

  send(body: Body): void {
    this.sendBytes(toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { body })));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#call.write(bytes);
  }

  hello(more: object = {}): void {
    this.send({
      case: 'hello',
      value: { protocolVersion: 1, clientVersion: '3.4.0', firmwareVersion: '9.001.0', ...more },
    });
  }

  ready(transactionId: number): void {
    this.send({ case: 'ready', value: { transactionId: BigInt(transactionId) } });
  }

  result(reportId: number, transactionId: number): void {
    this.send({
      case: 'report',
      value: {
        reportId: BigInt(reportId),
        body: { case: 'result', value: { transactionId: BigInt(transactionId), success: true } },
      },
    });
  }

  /** Returns the next unread message. Throws if it is of another kind. */
  async next<K extends Kind>(kind: K): Promise<ValueOf<K>> {
    const body = await waitFor(`${kind} from the cloud`, () => {
      if (this.received[this.#read]) return this.received[this.#read];
      if (this.end) throw new Error(`the stream ended instead of ${kind}: ${this.end.details}`);
      return undefined;
    });
    this.#read += 1;
    if (body.case !== kind) throw new Error(`${body.case} came instead of ${kind}`);
    return body.value as ValueOf<K>;
  }

  /** Returns the ids of the received messages of a kind, in order of arrival. */
  ids(kind: 'offer' | 'start' | 'drop' | 'revoke'): number[] {
    return this.received.flatMap((body) => (body.case === kind ? [Number(body.value.transactionId)] : []));
  }

  async ended(code: status): Promise<StatusObject> {
    const end = await waitFor('the end of the stream', () => this.end);
    if (end.code !== code) {
      throw new Error(`ended with ${status[end.code]} (${end.details}), not ${status[code]}`);
    }
    return end;
  }

  /** Stops reading: messages of the cloud stay in its buffers. */
  stopReading(): void {
    this.#call.pause();
  }

  /** Closes the headset's half of the stream, and waits for the cloud's half. */
  halfClose(): void {
    this.#call.end();
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}

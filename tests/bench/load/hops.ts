import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { createSender } from './http.ts';

const bytes = (data: Buffer) => data;

/**
 * The bare hops of a job one after the other: an HTTP round trip, a unary gRPC call, a round trip on an open
 * stream, a POST. Each carries the command's bytes and does nothing with them.
 */
export function createHops(target: { readonly origin: string; readonly grpc: string }): {
  all(body: string): Promise<void>;
  close(): Promise<void>;
} {
  const sender = createSender(target.origin, 64);
  const client = new Client(target.grpc, credentials.createInsecure());
  const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    '/bench.Hops/Stream',
    bytes,
    bytes,
  );
  const waiting: (() => void)[] = [];
  // A stream keeps its order, so answers come in the order of the requests.
  stream.on('data', () => waiting.shift()?.());
  stream.on('error', () => {});
  return {
    async all(body) {
      const payload = Buffer.from(body);
      await sender.send('PUT', '/hop', 204, body);
      await new Promise<void>((resolve, reject) => {
        client.makeUnaryRequest('/bench.Hops/Unary', bytes, bytes, payload, (error) =>
          error ? reject(error) : resolve(),
        );
      });
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        stream.write(payload);
      });
      await sender.send('POST', '/hop', 204, body);
    },
    async close() {
      stream.cancel();
      client.close();
      await sender.close();
    },
  };
}

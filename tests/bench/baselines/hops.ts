import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { serveCommands } from '../lib/worker.ts';
import { listen } from './http.ts';

/**
 * Baseline of the latency measure: the bare hops of a job, without any work: plain node:http, a unary gRPC
 * method and a bidirectional stream, which return what they receive.
 */
const bytes = (data: Buffer) => data;
const method = (path: string, stream: boolean) => ({
  path,
  requestStream: stream,
  responseStream: stream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

const commands = {
  start: async (_: object): Promise<{ origin: string; grpc: string }> => {
    const server = new Server();
    server.addService(
      { unary: method('/bench.Hops/Unary', false), stream: method('/bench.Hops/Stream', true) },
      {
        unary: (call: { request: Buffer }, answer: (error: null, data: Buffer) => void) =>
          answer(null, call.request),
        stream: (call: ServerDuplexStream<Buffer, Buffer>) => {
          call.on('data', (data: Buffer) => call.write(data));
          call.on('end', () => call.end());
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    const origin = await listen((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(204).end());
    });
    return { origin, grpc: `127.0.0.1:${port}` };
  },
};
export type HopsBaseline = typeof commands;
serveCommands(commands);

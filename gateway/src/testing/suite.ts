import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import type { HttpAnswer } from './contract.ts';
import type { Fakes } from './fakes.ts';
import { type RequestOptions, startTestGateway, type TestGateway } from './gateway.ts';

/** One gateway for a test file. Its fakes are reset before each test. */
export interface Suite {
  readonly gateway: TestGateway;
  readonly fakes: Fakes;
  send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<HttpAnswer>;
  /** The only request that a service got in this call; undefined if it got none. */
  asked<D extends DescMessage>(rpc: string, schema: D): MessageShape<D> | undefined;
  /** Sends a body (a string unchanged, other values as JSON) that must be rejected with exactly this detail. */
  refused(method: string, path: string, body: unknown, detail: string): Promise<void>;
}

export function useGateway(): Suite {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());
  beforeEach(() => {
    gateway.fakes.seen.length = 0;
    gateway.fakes.answers = {};
  });
  const send: Suite['send'] = (method, path, body, options = {}) =>
    gateway.request(method, path, {
      ...options,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    get gateway() {
      return gateway;
    },
    get fakes() {
      return gateway.fakes;
    },
    send,
    asked<D extends DescMessage>(rpc: string, _: D) {
      const requests = gateway.fakes.seen.filter((s) => s.rpc === rpc);
      expect(requests.length).toBeLessThanOrEqual(1);
      return requests[0]?.request as MessageShape<D> | undefined;
    },
    async refused(method, path, body, detail) {
      gateway.fakes.seen.length = 0;
      const answer = await send(method, path, body);
      expect([answer.status, answer.text, answer.headers['x-error-detail']]).toEqual([
        400,
        '{"message":"Invalid request body"}',
        detail,
      ]);
      expect(gateway.fakes.seen.filter((s) => !s.rpc.startsWith('authorize'))).toEqual([]);
    },
  };
}

import { authorizationOf } from '@headset-cloud/outbound/credentials.ts';
import type { BoundedAnswer, BoundedRequester } from '../ports/bounded-requester.ts';
import type { OriginPools } from './pools.ts';

/**
 * Posts with undici and reads the whole answer, up to a limit. Redirects are not followed. Each request has a separate
 * connection: the server may close a kept connection at the moment of the request, and a request that is sent only once
 * must not fail because of that.
 */
export class UndiciRequester implements BoundedRequester {
  readonly #pools: OriginPools;

  constructor(pools: OriginPools) {
    this.#pools = pools;
  }

  async post(
    url: URL,
    headers: Record<string, string>,
    body: Uint8Array,
    { maxAnswerBytes, deadline }: Parameters<BoundedRequester['post']>[3],
  ): Promise<BoundedAnswer> {
    const work = async (): Promise<BoundedAnswer> => {
      const answer = await this.#pools.get(url.origin).request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: { ...headers, ...authorizationOf(url) },
        body,
        reset: true,
        signal: deadline.signal,
      });
      // An interrupted body emits an error even if nobody reads it; without a listener that would end the process.
      answer.body.on('error', () => {});
      const { statusCode } = answer;
      try {
        if (statusCode !== 200) return { statusCode, body: Buffer.alloc(0) };
        const announced = Number(answer.headers['content-length'] ?? 0);
        if (announced > maxAnswerBytes) throw new AnswerTooLargeError(maxAnswerBytes);
        const parts: Buffer[] = [];
        let bytes = 0;
        for await (const part of answer.body as AsyncIterable<Buffer>) {
          bytes += part.length;
          if (bytes > maxAnswerBytes) throw new AnswerTooLargeError(maxAnswerBytes);
          parts.push(part);
        }
        return { statusCode, body: Buffer.concat(parts) };
      } finally {
        answer.body.destroy();
      }
    };
    return Promise.race([work(), deadline.passed]);
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }
}

/** The answer has more bytes than the limit. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
  constructor(maxAnswerBytes: number) {
    super(`the answer has more than ${maxAnswerBytes} bytes`);
  }
}

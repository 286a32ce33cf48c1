import type { Deadline } from '../http/deadline.ts';

/** An answer that is read completely. */
export interface BoundedAnswer {
  readonly statusCode: number;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** Makes one HTTP request and returns its answer. */
export interface BoundedRequester {
  /**
   * Rejects when no complete answer of at most `maxAnswerBytes` arrives before `deadline`. The error's text has the
   * reason and no text of the answer.
   */
  post(
    url: URL,
    headers: Record<string, string>,
    body: Uint8Array,
    limits: { readonly maxAnswerBytes: number; readonly deadline: Deadline },
  ): Promise<BoundedAnswer>;
  /** Closes every connection. */
  close(): Promise<void>;
}

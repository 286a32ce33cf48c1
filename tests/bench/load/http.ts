import { Pool } from 'undici';

/** Sends the requests of all measures: on persistent connections, one request at a time on each. */
export interface Sender {
  /** Returns the body. Throws when the status is not the expected one. */
  send(
    method: 'GET' | 'PUT' | 'POST',
    path: string,
    expected: number,
    body?: string,
    more?: Readonly<Record<string, string>>,
  ): Promise<string>;
  close(): Promise<void>;
}

/** An answer with another status than the expected one. */
export class UnexpectedStatus extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(`${status}: ${message}`);
    this.status = status;
  }
}

export function createSender(
  origin: string,
  connections: number,
  headers: Readonly<Record<string, string>> = {},
): Sender {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const withBody = { 'content-type': 'application/json', ...headers };
  return {
    async send(method, path, expected, body, more) {
      const answer = await pool.request({
        method,
        path,
        headers: { ...(body === undefined ? headers : withBody), ...more },
        ...(body !== undefined && { body }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== expected) {
        throw new UnexpectedStatus(answer.statusCode, `${method} ${path}: ${text.slice(0, 500)}`);
      }
      return text;
    },
    close: () => pool.close(),
  };
}

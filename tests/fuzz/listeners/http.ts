import { connect } from 'node:net';
import { longestMs } from './check.ts';
import type { Outcome } from './listener.ts';

/** The first answer on a new connection. */
export interface RawAnswer {
  /** Undefined: no answer before the end of the connection or the time limit. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Sends the pieces unchanged and returns the first answer other than 100. `end`: closes this side after the pieces.
 * `waitMs`: time limit for the answer; milliseconds.
 */
export function exchange(
  origin: string,
  pieces: readonly Buffer[],
  { end = false, waitMs = longestMs }: { end?: boolean; waitMs?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const received: Buffer[] = [];
    let isOver = false;
    const finish = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      // A reset leaves no port in TIME_WAIT.
      socket.resetAndDestroy();
      resolve(read(Buffer.concat(received)).answer);
    };
    const late = setTimeout(finish, waitMs);
    socket.setNoDelay(true);
    socket.on('error', finish).on('close', finish);
    socket.on('data', (data: Buffer) => {
      received.push(data);
      if (read(Buffer.concat(received)).isWhole) finish();
    });
    socket.once('connect', () => {
      for (const piece of pieces) socket.write(piece);
      if (end) socket.end();
    });
  });
}

/** Builds a request's head. Texts are encoded as Latin-1, so that they can contain every byte. */
export function head(method: string, path: string, headers: readonly (readonly [string, string])[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
}

/** Returns the fields of an answer that the checks use. */
export function answered(answer: RawAnswer): Pick<Outcome, 'status' | 'retryAfter' | 'kind'> {
  const { status, headers } = answer;
  return { status, retryAfter: headers['retry-after'], kind: String(status ?? 'no answer') };
}

/** Checks an answer for leaked internals, and a rejection for its form. */
export function strange({ status, headers, body }: RawAnswer, method = ''): string | undefined {
  const text = body.toString('utf8');
  if (/node_modules|\.ts:\d+|\bat [\w.]+ \(|\/(?:home|root|tmp|work)\//.test(text)) {
    return `the answer reveals internals: ${text.slice(0, 300)}`;
  }
  if (
    status === undefined ||
    status < 400 ||
    method === 'HEAD' ||
    !headers['content-type']?.startsWith('application/json')
  )
    return;
  try {
    if (typeof JSON.parse(text)?.message === 'string') return;
  } catch {}
  return `a rejection without a message: ${text.slice(0, 300)}`;
}

function read(bytes: Buffer): { answer: RawAnswer; isWhole: boolean } {
  const none = { answer: { status: undefined, headers: {}, body: Buffer.alloc(0) }, isWhole: false };
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return none;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(first)?.[1]);
  if (!status) return none;
  if (status === 100) return read(bytes.subarray(end + 4));
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const rest = bytes.subarray(end + 4);
  const length = Number(headers['content-length']);
  if (headers['transfer-encoding'] === 'chunked') {
    const whole = ofChunks(rest);
    return { answer: { status, headers, body: whole ?? rest }, isWhole: whole !== undefined };
  }
  const isWhole = status === 204 || status === 304 || rest.length >= length;
  // Further bytes belong to another answer.
  const body = Number.isNaN(length) ? rest : rest.subarray(0, length);
  return { answer: { status, headers, body }, isWhole };
}

/** Joins the chunks of a body; undefined if the last chunk is missing. */
function ofChunks(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const length = line < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (Number.isNaN(length) || line + 2 + length > bytes.length) return undefined;
    if (length === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 4 + length;
  }
}

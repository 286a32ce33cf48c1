/** A stored callback. */
export interface StoredCallback {
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Time of receipt in the file; milliseconds since 1970. */
  readonly receivedAtMs: number | undefined;
}

/**
 * Reads a stored callback: a raw HTTP request (the request line may be missing), or JSON with `headers` and `body` (a
 * text), `rawBody` or `bodyBase64`, and optionally `receivedAt`. Throws an Error with the problem.
 */
export function parseStored(content: Buffer): StoredCallback {
  const start = content.toString('latin1', 0, 64).trimStart();
  return start.startsWith('{') ? parseJson(content.toString('utf8')) : parseRequest(content);
}

function parseJson(text: string): StoredCallback {
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message}`);
  }
  const { headers, body, rawBody, bodyBase64, receivedAt } = value;
  if (typeof headers !== 'object' || headers === null) {
    throw new Error('it has no "headers": without them there is nothing to verify');
  }
  const bytes =
    typeof bodyBase64 === 'string'
      ? Buffer.from(bodyBase64, 'base64')
      : typeof body === 'string'
        ? Buffer.from(body)
        : typeof rawBody === 'string'
          ? Buffer.from(rawBody)
          : undefined;
  if (!bytes) {
    throw new Error(
      'it has no "body" as a text: a body that was parsed cannot be verified, since the signature is over its bytes',
    );
  }
  const received = typeof receivedAt === 'string' ? Date.parse(receivedAt) : Number.NaN;
  return {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        String(Array.isArray(value) ? value[0] : value),
      ]),
    ),
    body: bytes,
    receivedAtMs: Number.isNaN(received) ? undefined : received,
  };
}

function parseRequest(content: Buffer): StoredCallback {
  const [end, gap] = endOfHeaders(content);
  if (end < 0) {
    throw new Error(
      'it has no empty line between headers and body (or is not JSON with "headers" and "body")',
    );
  }
  const lines = content.toString('latin1', 0, end).split(/\r?\n/);
  if (/^[A-Z]+ \S+( HTTP\/[\d.]+)?$/.test(lines[0] ?? '')) lines.shift();
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value = ''] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`${JSON.stringify(line.slice(0, 60))} is not a header`);
    headers[name.toLowerCase()] = value;
  }
  return { headers, body: content.subarray(end + gap), receivedAtMs: undefined };
}

/** Offset of the end of the headers, and number of bytes between headers and body. */
function endOfHeaders(content: Buffer): readonly [number, number] {
  const strict = content.indexOf('\r\n\r\n');
  const loose = content.indexOf('\n\n');
  return strict >= 0 && (loose < 0 || strict < loose) ? [strict, 4] : [loose, 2];
}

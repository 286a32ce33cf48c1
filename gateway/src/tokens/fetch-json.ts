import { withinTime } from '@headset-cloud/outbound/time-limit.ts';

/** Fetches a JSON document with limits of size and time. Rejects redirects, so that only the configured URL is read. */
export async function fetchJson(
  url: string,
  options: { timeoutMs: number; limitBytes: number; fetch: typeof globalThis.fetch },
): Promise<unknown> {
  return withinTime(options.timeoutMs, `no answer from ${url}`, (signal) => load(url, options, signal));
}

async function load(
  url: string,
  options: { limitBytes: number; fetch: typeof globalThis.fetch },
  signal: AbortSignal,
): Promise<unknown> {
  const response = await options.fetch(url, {
    signal,
    redirect: 'error',
    headers: { accept: 'application/json' },
  });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    // The error ends the loop, which cancels the body.
    if (size > options.limitBytes) throw new Error(`${url} answered more than ${options.limitBytes} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

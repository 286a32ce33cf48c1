import { parseAnnouncements } from './parser.ts';

/** Reason why the announcements cannot be shown. */
export type LoadFailure =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'timeout' | 'offline' | 'tooLarge' | 'notText' | 'tooComplex' | 'noParser' };

export type Loaded = { readonly html: string } | { readonly failure: LoadFailure };

export const timeoutMs = 10_000;
export const maxBytes = 64 * 1024;

/** Reads the body up to `maxBytes`; undefined if it is larger. */
async function readText({ body }: Response): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
    bytes += part.value.length;
    if (bytes > maxBytes) {
      void reader.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

async function fetchText(
  address: string,
  signal: AbortSignal,
): Promise<string | { readonly failure: LoadFailure }> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(address, {
      signal: AbortSignal.any([signal, timeout]),
      credentials: 'omit',
      cache: 'no-cache',
    });
    if (!response.ok) return { failure: { kind: 'status', status: response.status } };
    // Captive portals and proxies respond with an HTML page.
    const isText = /^text\/(?:markdown|x-markdown|plain)\b/i.test(response.headers.get('content-type') ?? '');
    if (!isText) return { failure: { kind: 'notText' } };
    const text = await readText(response);
    return text ?? { failure: { kind: 'tooLarge' } };
  } catch {
    return { failure: { kind: timeout.aborted ? 'timeout' : 'offline' } };
  }
}

/** Fetches and parses the document; never throws. */
export async function loadAnnouncements(address: string, signal: AbortSignal): Promise<Loaded> {
  const text = await fetchText(address, signal);
  if (typeof text !== 'string') return text;
  const { href, origin } = window.location;
  return parseAnnouncements({ text, base: new URL(address, href).href, origin }, signal);
}

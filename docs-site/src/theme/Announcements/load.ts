/** Why the announcements are not there. */
export type LoadFailure =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'timeout' | 'offline' | 'tooLarge' };

export type Loaded = { readonly text: string } | { readonly failure: LoadFailure };

export const timeoutMs = 10_000;
const mostCharacters = 500_000;

/** Fetches the document; never throws. */
export async function loadAnnouncements(address: string, signal: AbortSignal): Promise<Loaded> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(address, {
      signal: AbortSignal.any([signal, timeout]),
      credentials: 'omit',
      cache: 'no-cache',
    });
    if (!response.ok) return { failure: { kind: 'status', status: response.status } };
    const text = await response.text();
    return text.length > mostCharacters ? { failure: { kind: 'tooLarge' } } : { text };
  } catch {
    return { failure: { kind: timeout.aborted ? 'timeout' : 'offline' } };
  }
}

/** Fragments by address. A navigation waits for its fragment (src/loader.ts), so it is here before rendering. */
const seen = new Map<string, string>();

export const fragmentOf = (address: string): string | undefined => seen.get(address);
/** Stores a fragment, unless it is already stored. */
export const keepFragment = (address: string, html: () => string): void => {
  if (!seen.has(address)) seen.set(address, html());
};

/**
 * Checks the content type and the SHA-256 of the content, whose first digits are in the address (build/site.ts).
 * Without WebCrypto, checks the type only: proxies and portals that replace a response send HTML.
 */
async function isGenuine(address: string, response: Response, bytes: ArrayBuffer): Promise<boolean> {
  if (!response.headers.get('content-type')?.startsWith('text/plain') || bytes.byteLength === 0) return false;
  const expected = /\.([\da-f]+)\.txt$/.exec(address)?.[1];
  if (!expected || !globalThis.crypto?.subtle) return true;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash]
    .map((one) => one.toString(16).padStart(2, '0'))
    .join('')
    .startsWith(expected);
}

/** Fetches a fragment once. Throws if the request fails or the content is wrong. */
export async function loadFragment(address: string): Promise<string> {
  const known = seen.get(address);
  if (known !== undefined) return known;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`fragment ${address}: ${response.status}`);
  const bytes = await response.arrayBuffer();
  if (!(await isGenuine(address, response, bytes))) throw new Error(`fragment ${address}: wrong content`);
  const html = new TextDecoder().decode(bytes);
  keepFragment(address, () => html);
  return html;
}

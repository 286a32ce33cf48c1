/** Fragments that this tab has seen. A navigation waits for its fragment (src/loader.ts), so rendering finds it here. */
const seen = new Map<string, string>();

export const fragmentOf = (address: string): string | undefined => seen.get(address);
/** Keeps a fragment as it came: the first time counts. */
export const keepFragment = (address: string, html: () => string): void => {
  if (!seen.has(address)) seen.set(address, html());
};

/**
 * The address holds the beginning of the content's SHA-256 (build/site.ts). Where the browser offers no cryptography,
 * the type has to do: what answers in the place of the server answers with HTML.
 */
async function isGenuine(address: string, response: Response, bytes: ArrayBuffer): Promise<boolean> {
  if (!response.headers.get('content-type')?.startsWith('text/plain') || bytes.byteLength === 0) return false;
  const promised = /\.([\da-f]+)\.txt$/.exec(address)?.[1];
  if (!promised || !globalThis.crypto?.subtle) return true;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash]
    .map((one) => one.toString(16).padStart(2, '0'))
    .join('')
    .startsWith(promised);
}

/** Fetches a fragment once; throws when it does not come, or something else comes. */
export async function loadFragment(address: string): Promise<string> {
  const known = seen.get(address);
  if (known !== undefined) return known;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`fragment ${address}: ${response.status}`);
  const bytes = await response.arrayBuffer();
  if (!(await isGenuine(address, response, bytes))) throw new Error(`fragment ${address}: other content`);
  const html = new TextDecoder().decode(bytes);
  keepFragment(address, () => html);
  return html;
}

/** Fragments that this tab has seen. A navigation waits for its fragment (gatsby-browser), so rendering finds it here. */
const seen = new Map<string, string>();

export const fragmentOf = (address: string): string | undefined => seen.get(address);
export const keepFragment = (address: string, html: string): void => {
  if (!seen.has(address)) seen.set(address, html);
};

/** Fetches a fragment once; throws when it does not come. */
export async function loadFragment(address: string): Promise<string> {
  const known = seen.get(address);
  if (known !== undefined) return known;
  const response = await fetch(address);
  if (!response.ok) throw new Error(`fragment ${address}: ${response.status}`);
  const html = await response.text();
  keepFragment(address, html);
  return html;
}

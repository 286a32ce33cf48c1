/** Encodes an invalid hash of an address, so that it can be decoded: Gatsby and the router throw on an invalid hash. */
export function repaired(address: string): string {
  const [, path = '', hash = ''] = /^([^#]*)(.*)$/s.exec(address) ?? [];
  try {
    decodeURI(hash);
    return address;
  } catch {
    return path + hash.replaceAll('%', '%25');
  }
}

/** Repairs the hashes of links. The head script repairs the page's address before Gatsby starts (theme/headScript.ts). */
export function watchHashes(): void {
  const router = window as unknown as { ___navigate(to: unknown, options?: object): void };
  const navigate = router.___navigate;
  router.___navigate = (to, options) => navigate(typeof to === 'string' ? repaired(to) : to, options);
}

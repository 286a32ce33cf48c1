/** An address whose hash Gatsby and the router can decode: they throw on a malformed one. */
export function repaired(address: string): string {
  const [, path = '', hash = ''] = /^([^#]*)(.*)$/s.exec(address) ?? [];
  try {
    decodeURI(hash);
    return address;
  } catch {
    return path + hash.replaceAll('%', '%25');
  }
}

/** Addresses that come from the browser itself are repaired in the head (src/theme/headScript.ts), before Gatsby starts. */
export function watchHashes(): void {
  const router = window as unknown as { ___navigate(to: unknown, options?: object): void };
  const navigate = router.___navigate;
  router.___navigate = (to, options) => navigate(typeof to === 'string' ? repaired(to) : to, options);
}

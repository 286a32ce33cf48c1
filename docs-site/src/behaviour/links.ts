import { navigate } from 'gatsby';

/** Routes clicks on internal links of fragments, which are plain `<a>` elements, through Gatsby's router. */
export function startLinks(): void {
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element | null)?.closest<HTMLAnchorElement>('.prose a[href]');
    if (!link || link.target === '_blank' || link.hasAttribute('download')) return;
    const { origin, pathname, search, hash } = new URL(link.href);
    if (origin !== window.location.origin || /\.\w+$/.test(pathname)) return;
    if (pathname === window.location.pathname && search === window.location.search) return;
    event.preventDefault();
    void navigate(pathname + search + hash);
  });
  // Prefetches a link under the pointer, as gatsby-link does; not in data-saver mode (src/loader.ts).
  document.addEventListener('pointerover', (event) => {
    const link = (event.target as Element | null)?.closest<HTMLAnchorElement>('.prose a[href^="/"]');
    if (!link || link.origin !== window.location.origin || /\.\w+$/.test(link.pathname)) return;
    (window as unknown as { ___loader?: { hovering(path: string): void } }).___loader?.hovering(
      link.pathname,
    );
  });
}

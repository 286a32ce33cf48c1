import { type ReactElement, useContext, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { announceFragment } from '../../behaviour/fragments';
import { FragmentContext } from './context';
import { fragmentOf, keepFragment, loadFragment } from './store';

const useBrowserLayoutEffect = typeof window === 'undefined' ? useEffect : useLayoutEffect;

/**
 * Static HTML that React does not hydrate. On the first visit, the fragment is in the page's HTML, and React 18 keeps
 * the content of `dangerouslySetInnerHTML` while hydrating. After a navigation, the fragment is in the store.
 */
export function Fragment({
  address,
  className,
}: {
  readonly address: string;
  readonly className: string;
}): ReactElement {
  const read = useContext(FragmentContext);
  const element = useRef<HTMLDivElement>(null);
  const [, setLoaded] = useState(false);
  const html = read ? read(address) : (fragmentOf(address) ?? '');
  useBrowserLayoutEffect(() => {
    const node = element.current;
    if (!node?.firstChild) return;
    if (fragmentOf(address) !== undefined) {
      announceFragment(node);
      return;
    }
    // First visit. Two separate tasks, so that a large page can respond to the reader between them.
    let next = setTimeout(() => {
      // Stores the HTML before any script changes it: after Back, forms and their results must be empty.
      keepFragment(address, () => node.innerHTML);
      next = setTimeout(() => announceFragment(node));
    });
    return () => clearTimeout(next);
  });
  useEffect(() => {
    // Needed only with Gatsby's development server; otherwise the fragment is already loaded.
    if (element.current?.firstChild) return;
    loadFragment(address).then(
      () => setLoaded(true),
      () => undefined,
    );
  }, [address]);
  return (
    <div
      ref={element}
      className={className}
      suppressHydrationWarning
      // biome-ignore lint/security/noDangerouslySetInnerHtml: rendered and escaped by the build
      dangerouslySetInnerHTML={{ __html: html }}
    />
  );
}

import { type ReactElement, useContext, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { announceFragment } from '../../behaviour/fragments';
import { FragmentContext } from './context';
import { fragmentOf, keepFragment, loadFragment } from './store';

const useBrowserLayoutEffect = typeof window === 'undefined' ? useEffect : useLayoutEffect;

/**
 * Static HTML that React neither renders nor hydrates. On the first visit the HTML's copy stays as it is: React 18
 * leaves the inside of `dangerouslySetInnerHTML` alone while hydrating. After a navigation the store has it.
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
    // The first visit. Both are tasks of their own: a large page answers the reader between them.
    let next = setTimeout(() => {
      // Before anything changes it: a form that comes back is empty, and so is what was made of it.
      keepFragment(address, () => node.innerHTML);
      next = setTimeout(() => announceFragment(node));
    });
    return () => clearTimeout(next);
  });
  useEffect(() => {
    // Only where nobody fetched it before: Gatsby's own development server.
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

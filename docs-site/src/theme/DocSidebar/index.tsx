import { type ReactElement, useEffect, useMemo, useRef, useState } from 'react';
import { ja } from '../../strings/ja';
import type { SidebarCategory } from '../../types';
import { Icon } from '../Icon';
import { useActiveHeading } from '../useActiveHeading';
import { useHydrated } from '../useHydrated';
import { SidebarTree } from './SidebarTree';

interface Props {
  readonly categories: readonly SidebarCategory[];
  readonly path: string;
  readonly hash: string;
}

/** Items that lead to an anchor of the current page: the calls of a reference. */
const anchorsOf = (categories: readonly SidebarCategory[]): string[] =>
  categories.flatMap(({ items }) =>
    items.flatMap(({ href }) => (href.startsWith('#') ? [decodeURIComponent(href.slice(1))] : [])),
  );

/**
 * Sidebar of a document. On a reference, it marks the call that is being read. It can be hidden: the focus then moves
 * to the button that shows it again, and back when it is shown.
 */
export function DocSidebar(props: Props): ReactElement {
  const { categories, path } = props;
  const hydrated = useHydrated();
  const parts = useMemo(() => anchorsOf(categories), [categories]);
  const reading = useActiveHeading(parts);
  const hash = !hydrated ? '' : reading === undefined ? props.hash : `#${reading}`;
  const [hidden, setHidden] = useState(false);
  const show = useRef<HTMLButtonElement>(null);
  const hide = useRef<HTMLButtonElement>(null);
  const moved = useRef(false);
  const scroller = useRef<HTMLElement>(null);

  useEffect(() => {
    if (!moved.current) return;
    (hidden ? show : hide).current?.focus();
  }, [hidden]);

  // Keeps the active item visible in the sidebar.
  useEffect(() => {
    const box = scroller.current;
    const link = box?.querySelector<HTMLElement>('[aria-current]');
    if (!box || !link || !path || hash === undefined) return;
    const top = link.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (top < 0 || top > box.clientHeight - 60) box.scrollTop += top - box.clientHeight / 2;
  }, [path, hash]);

  const toggle = (next: boolean) => {
    moved.current = true;
    setHidden(next);
  };
  return (
    <aside className={`doc-sidebar${hidden ? ' doc-sidebar--hidden' : ''}`}>
      {hidden ? (
        <button
          ref={show}
          type="button"
          className="doc-sidebar__show"
          aria-label={ja.sidebar.show}
          title={ja.sidebar.show}
          onClick={() => toggle(false)}
        >
          <Icon name="sidebar" />
        </button>
      ) : null}
      <nav ref={scroller} className="doc-sidebar__scroll" aria-label={ja.sidebar.label} hidden={hidden}>
        <SidebarTree categories={categories} path={path} hash={hash} />
      </nav>
      <button
        ref={hide}
        type="button"
        className="doc-sidebar__hide"
        hidden={hidden}
        onClick={() => toggle(true)}
      >
        <Icon name="sidebar" />
        {ja.sidebar.hide}
      </button>
    </aside>
  );
}

import { type ReactElement, useEffect, useState } from 'react';
import { ja } from '../../strings/ja';
import type { TocItem } from '../../types';
import { Icon } from '../Icon';

/** The heading that is being read: the last one above a line below the navigation bar. */
function useActiveHeading(items: readonly TocItem[]): string | undefined {
  const [active, setActive] = useState<string>();
  useEffect(() => {
    let asked = 0;
    const find = () => {
      asked = 0;
      const line = Math.max(100, window.innerHeight * 0.18);
      let found: string | undefined;
      for (const { id } of items) {
        const top = document.getElementById(id)?.getBoundingClientRect().top;
        if (top !== undefined && top <= line) found = id;
      }
      // At the very end the last heading may never reach the line.
      const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
      setActive(atEnd && window.scrollY > 0 ? items.at(-1)?.id : found);
    };
    const ask = () => {
      asked ||= requestAnimationFrame(find);
    };
    ask();
    window.addEventListener('scroll', ask, { passive: true });
    window.addEventListener('resize', ask);
    return () => {
      cancelAnimationFrame(asked);
      window.removeEventListener('scroll', ask);
      window.removeEventListener('resize', ask);
    };
  }, [items]);
  return active;
}

function List({
  items,
  active,
}: {
  readonly items: readonly TocItem[];
  readonly active: string | undefined;
}): ReactElement {
  return (
    <ul className="toc__list">
      {items.map(({ id, text, level }) => (
        <li key={id} className={`toc__item toc__item--${level}`}>
          <a className="toc__link" href={`#${id}`} aria-current={id === active ? 'true' : undefined}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Beside the text; levels 2 and 3. */
export function TOC({ items }: { readonly items: readonly TocItem[] }): ReactElement {
  const active = useActiveHeading(items);
  return (
    <nav className="toc" aria-label={ja.toc.title}>
      <p className="toc__title">{ja.toc.title}</p>
      <List items={items} active={active} />
    </nav>
  );
}

/** Above the text, at or below the breakpoint; works without JavaScript. */
export function TOCCollapsible({ items }: { readonly items: readonly TocItem[] }): ReactElement {
  return (
    <details className="toc-collapsible">
      <summary className="toc-collapsible__summary">
        {ja.toc.title}
        <Icon name="down" />
      </summary>
      <List items={items} active={undefined} />
    </details>
  );
}

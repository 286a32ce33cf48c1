import { type ReactElement, useMemo } from 'react';
import { ja } from '../../strings/ja';
import type { TocItem } from '../../types';
import { Icon } from '../Icon';
import { useActiveHeading } from '../useActiveHeading';

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

/** Table of contents next to the text, with heading levels 2 and 3. */
export function TOC({ items }: { readonly items: readonly TocItem[] }): ReactElement {
  const active = useActiveHeading(useMemo(() => items.map(({ id }) => id), [items]));
  return (
    <nav className="toc" aria-label={ja.toc.title}>
      <p className="toc__title">{ja.toc.title}</p>
      <List items={items} active={active} />
    </nav>
  );
}

/** Collapsible table of contents above the text, at or below the breakpoint. Works without JavaScript. */
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

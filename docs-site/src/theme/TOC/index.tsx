import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { TocItem } from '../../types';

export function TOC({ items }: { readonly items: readonly TocItem[] }): ReactElement {
  return (
    <nav className="toc" aria-label={ja.toc.title}>
      <ul>
        {items.map((item) => (
          <li key={item.id}>
            <a href={`#${item.id}`}>{item.text}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

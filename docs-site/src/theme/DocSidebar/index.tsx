import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { SidebarCategory } from '../../types';

export function DocSidebar({ categories }: { readonly categories: readonly SidebarCategory[] }): ReactElement {
  return (
    <nav className="doc-sidebar" aria-label={ja.sidebar.label}>
      {categories.map((category) => (
        <ul key={category.label}>
          {category.items.map((item) => (
            <li key={item.href}>{item.href.startsWith('#') ? <a href={item.href}>{item.label}</a> : <Link to={item.href}>{item.label}</Link>}</li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { DocumentPage } from '../../types';
import { Icon } from '../Icon';

export function Breadcrumbs({ items }: { readonly items: DocumentPage['breadcrumbs'] }): ReactElement {
  return (
    <nav className="breadcrumbs" aria-label={ja.breadcrumbs.label}>
      <ol className="breadcrumbs__list">
        <li className="breadcrumbs__item">
          <Link className="breadcrumbs__link" to="/" aria-label={ja.breadcrumbs.home}>
            <Icon name="home" />
          </Link>
        </li>
        {items.map(({ label, href }, index) => (
          <li key={label} className="breadcrumbs__item">
            <Icon name="chevron" />
            {index === items.length - 1 ? (
              <span aria-current="page">{label}</span>
            ) : href ? (
              <Link className="breadcrumbs__link" to={href}>
                {label}
              </Link>
            ) : (
              <span>{label}</span>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Breadcrumbs for search engines (JSON-LD): only items with an address, and the page. */
export function breadcrumbsJson(items: DocumentPage['breadcrumbs'], route: string, siteUrl: string): string {
  const named = items.filter((one, index) => one.href || index === items.length - 1);
  return JSON.stringify({
    '@context': 'https://schema.org',
    '@type': 'BreadcrumbList',
    itemListElement: named.map(({ label, href }, index) => ({
      '@type': 'ListItem',
      position: index + 1,
      name: label,
      item: `${siteUrl}${href ?? route}`,
    })),
  }).replaceAll('<', '\\u003c');
}

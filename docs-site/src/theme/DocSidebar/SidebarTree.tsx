import { Link } from 'gatsby';
import { type ReactElement, useEffect, useId, useState } from 'react';
import { ja } from '../../strings/ja';
import type { SidebarCategory, SidebarLink } from '../../types';
import { Icon } from '../Icon';

interface Props {
  readonly categories: readonly SidebarCategory[];
  readonly path: string;
  readonly hash: string;
}

const isActive = ({ href }: SidebarLink, path: string, hash: string): boolean =>
  href.startsWith('#') ? decoded(hash) === href : href === path;

const decoded = (hash: string) => {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
};

function Item({ item, active }: { readonly item: SidebarLink; readonly active: boolean }): ReactElement {
  const inside = (
    <>
      {item.method ? <span className={`method method--${item.method}`}>{item.method}</span> : null}
      <span
        className={
          item.deprecated ? 'doc-sidebar__label doc-sidebar__label--deprecated' : 'doc-sidebar__label'
        }
      >
        {item.label}
      </span>
    </>
  );
  const props = { className: 'doc-sidebar__link', 'aria-current': active ? ('page' as const) : undefined };
  return (
    <li>
      {item.href.startsWith('#') ? (
        <a {...props} aria-current={active ? 'location' : undefined} href={item.href}>
          {inside}
        </a>
      ) : (
        <Link {...props} to={item.href}>
          {inside}
        </Link>
      )}
    </li>
  );
}

function Category({
  category,
  path,
  hash,
  only,
}: Omit<Props, 'categories'> & { readonly category: SidebarCategory; readonly only: boolean }): ReactElement {
  const holdsActive = category.items.some((item) => isActive(item, path, hash));
  const [open, setOpen] = useState(
    holdsActive || only || category.items.some((item) => !item.href.startsWith('#')),
  );
  const id = useId();
  // A category opens when it becomes active. Only its button closes it.
  useEffect(() => {
    if (holdsActive) setOpen(true);
  }, [holdsActive]);
  return (
    <section className="doc-sidebar__category">
      <h2 className="doc-sidebar__heading">
        <button
          type="button"
          className="doc-sidebar__toggle"
          aria-expanded={open}
          aria-controls={id}
          aria-label={open ? ja.sidebar.collapse(category.label) : ja.sidebar.expand(category.label)}
          onClick={() => setOpen(!open)}
        >
          <span>{category.label}</span>
          <Icon name="chevron" />
        </button>
      </h2>
      <ul id={id} className="doc-sidebar__list" hidden={!open}>
        {category.items.map((item) => (
          <Item key={item.href} item={item} active={isActive(item, path, hash)} />
        ))}
      </ul>
    </section>
  );
}

/** Categories of the sidebar. Each opens and closes independently. */
export function SidebarTree({ categories, path, hash }: Props): ReactElement {
  return (
    <div className="doc-sidebar__tree">
      {categories.map((category) => (
        <Category
          key={category.label}
          category={category}
          path={path}
          hash={hash}
          only={categories.length === 1}
        />
      ))}
    </div>
  );
}

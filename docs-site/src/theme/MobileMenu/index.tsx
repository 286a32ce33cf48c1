import { navigate } from 'gatsby';
import { type MouseEvent, type ReactElement, useCallback, useEffect, useRef, useState } from 'react';
import { ja } from '../../strings/ja';
import { SidebarTree } from '../DocSidebar/SidebarTree';
import { VersionItems } from '../DocVersionDropdown';
import { Icon } from '../Icon';
import { LocaleItem } from '../LocaleDropdown';
import { Logo } from '../Logo';
import type { NavbarProps } from '../Navbar';
import { apiLinks, guideLinks, informationLink } from '../Navbar/items';
import { mobileQuery } from '../useMobile';
import { useSite } from '../useSite';

interface Props extends NavbarProps {
  readonly open: boolean;
  close(): void;
}

/**
 * Menu at or below the breakpoint: a main panel and, on pages with a sidebar, a docs panel that is shown first. Opening
 * it adds a history entry, so that Back closes the menu and stays on the page. A link in it replaces that entry.
 */
export function MobileMenu({
  open,
  close,
  path,
  search,
  hash,
  sidebar,
  versions,
  version,
}: Props): ReactElement {
  const { siteName } = useSite();
  const dialog = useRef<HTMLDialogElement>(null);
  const [panel, setPanel] = useState<'main' | 'docs'>('main');
  const hasDocs = sidebar !== undefined && sidebar.length > 0;
  const ownEntry = useRef(false);

  /** Closes the menu and removes its history entry. */
  const dismiss = useCallback(() => {
    if (ownEntry.current) {
      ownEntry.current = false;
      window.history.back();
    }
    close();
  }, [close]);

  useEffect(() => {
    const node = dialog.current;
    if (!node || !open) return;
    setPanel(hasDocs ? 'docs' : 'main');
    node.showModal();
    document.body.classList.add('locked');
    window.history.pushState(window.history.state, '', window.location.href);
    ownEntry.current = true;
    const back = () => {
      ownEntry.current = false;
      close();
    };
    const media = matchMedia(mobileQuery);
    const grown = () => {
      if (!media.matches) dismiss();
    };
    window.addEventListener('popstate', back);
    media.addEventListener('change', grown);
    return () => {
      window.removeEventListener('popstate', back);
      media.removeEventListener('change', grown);
      document.body.classList.remove('locked');
      node.close();
    };
  }, [open, hasDocs, close, dismiss]);

  const clicked = (event: MouseEvent<HTMLDialogElement>) => {
    if (event.target === dialog.current) return dismiss();
    const link = (event.target as Element).closest('a');
    if (
      !link ||
      event.defaultPrevented ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      link.target === '_blank'
    )
      return;
    const url = new URL(link.href);
    if (url.origin !== window.location.origin) return;
    event.preventDefault();
    ownEntry.current = false;
    close();
    void navigate(url.pathname + url.search + url.hash, { replace: true });
  };

  const list = (title: string, links: typeof guideLinks) => (
    <section className="mobile-menu__section">
      <h2 className="mobile-menu__title">{title}</h2>
      <ul className="mobile-menu__list">
        {links.map(({ label, href }) => (
          <li key={href}>
            <a className="mobile-menu__link" href={href} aria-current={path === href ? 'page' : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );

  return (
    <dialog
      ref={dialog}
      className="mobile-menu"
      aria-label={ja.nav.main}
      onCancel={(event) => {
        event.preventDefault();
        dismiss();
      }}
      onClickCapture={clicked}
    >
      {open ? (
        <div className="mobile-menu__body">
          <div className="mobile-menu__head">
            <span className="navbar__brand">
              <Logo />
              <span>{siteName}</span>
            </span>
            <button type="button" className="navbar__icon" aria-label={ja.nav.close} onClick={dismiss}>
              <Icon name="close" />
            </button>
          </div>
          <div className="mobile-menu__panels" data-panel={panel}>
            <div className="mobile-menu__panel" data-name="main" inert={panel === 'main' ? undefined : ''}>
              {hasDocs ? (
                <button type="button" className="mobile-menu__switch" onClick={() => setPanel('docs')}>
                  {ja.nav.docsMenu} →
                </button>
              ) : null}
              {list(ja.nav.guides, guideLinks)}
              {list(ja.nav.apis, apiLinks)}
              {list(informationLink.label, [informationLink])}
              <section className="mobile-menu__section">
                <h2 className="mobile-menu__title">{ja.nav.versions}</h2>
                <ul className="mobile-menu__list">
                  <VersionItems
                    path={path}
                    versions={versions}
                    version={version}
                    className="mobile-menu__link"
                  />
                </ul>
              </section>
              <section className="mobile-menu__section">
                <h2 className="mobile-menu__title">{ja.nav.languages}</h2>
                <ul className="mobile-menu__list">
                  <li>
                    <LocaleItem address={`${path}${search}${hash}`} className="mobile-menu__link" />
                  </li>
                </ul>
              </section>
            </div>
            {hasDocs ? (
              <div className="mobile-menu__panel" data-name="docs" inert={panel === 'docs' ? undefined : ''}>
                <button type="button" className="mobile-menu__switch" onClick={() => setPanel('main')}>
                  {ja.nav.back}
                </button>
                <SidebarTree categories={sidebar} path={path} hash={hash} />
              </div>
            ) : null}
          </div>
        </div>
      ) : null}
    </dialog>
  );
}

declare module 'react' {
  interface HTMLAttributes<T> {
    /** React 18 passes the value through: '' is on, undefined is off. */
    inert?: '' | undefined;
  }
}

import { Link } from 'gatsby';
import { type ReactElement, useState } from 'react';
import { SearchButton } from '../../search/SearchButton';
import { ja } from '../../strings/ja';
import type { DocVersion, SidebarCategory } from '../../types';
import { ColorModeToggle } from '../ColorModeToggle';
import { DocVersionDropdown } from '../DocVersionDropdown';
import { Dropdown } from '../Dropdown';
import { Icon } from '../Icon';
import { LocaleDropdown } from '../LocaleDropdown';
import { Logo } from '../Logo';
import { MobileMenu } from '../MobileMenu';
import { useHydrated } from '../useHydrated';
import { useSite } from '../useSite';
import { apiLinks, guideLinks, informationLink, isBelow } from './items';

export interface NavbarProps {
  readonly path: string;
  readonly search: string;
  readonly hash: string;
  readonly sidebar?: readonly SidebarCategory[];
  readonly versions: readonly DocVersion[];
  readonly version: string;
}

export function Navbar(props: NavbarProps): ReactElement {
  const { path, versions, version } = props;
  const hydrated = useHydrated();
  const address = hydrated ? `${path}${props.search}${props.hash}` : path;
  const { siteName } = useSite();
  const [menuOpen, setMenuOpen] = useState(false);
  const links = (items: typeof guideLinks) =>
    items.map(({ label, href }) => (
      <li key={href}>
        <Link className="dropdown__link" to={href} aria-current={path === href ? 'page' : undefined}>
          {label}
        </Link>
      </li>
    ));
  return (
    <header className="navbar">
      <div className="navbar__inner">
        <button
          type="button"
          className="navbar__icon navbar__menu"
          aria-label={ja.nav.open}
          aria-expanded={menuOpen}
          onClick={() => setMenuOpen(true)}
        >
          <Icon name="menu" />
        </button>
        <Link className="navbar__brand" to="/" aria-label={ja.nav.home(siteName)}>
          <Logo />
          <span className="navbar__name">{siteName}</span>
        </Link>
        <nav className="navbar__main" aria-label={ja.nav.main}>
          <Dropdown name="guides" label={ja.nav.guides} current={isBelow(path, '/docs')}>
            {links(guideLinks)}
          </Dropdown>
          <Dropdown name="apis" label={ja.nav.apis} current={isBelow(path, '/apis')}>
            {links(apiLinks)}
          </Dropdown>
          <Link
            className="navbar__item"
            to={informationLink.href}
            aria-current={path === informationLink.href ? 'page' : undefined}
          >
            {informationLink.label}
          </Link>
        </nav>
        <div className="navbar__tools">
          <SearchButton />
          <div className="navbar__choices">
            <DocVersionDropdown path={path} versions={versions} version={version} />
            <LocaleDropdown address={address} />
          </div>
          <ColorModeToggle />
        </div>
      </div>
      <MobileMenu {...props} open={menuOpen} close={() => setMenuOpen(false)} />
    </header>
  );
}

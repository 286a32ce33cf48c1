import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { useSite } from '../useSite';

export function Navbar(): ReactElement {
  const { siteName } = useSite();
  return (
    <header className="navbar">
      <Link to="/">{siteName}</Link>
    </header>
  );
}

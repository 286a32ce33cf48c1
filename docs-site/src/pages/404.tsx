import { Link, navigate } from 'gatsby';
import { type ReactElement, useEffect } from 'react';
import { ja } from '../strings/ja';
import { apiLinks, guideLinks } from '../theme/Navbar/items';
import { PageHead } from '../theme/PageHead';

/** Under other servers than the site's own, a suffix leads here: the path without it is tried. */
function useSuffixRedirect(): void {
  useEffect(() => {
    const { pathname, search, hash } = window.location;
    const plain = pathname.replace(/(?:\/index(?:\.html)?|\.html)$/, '') || '/';
    if (plain !== pathname && plain !== '/404') void navigate(plain + search + hash, { replace: true });
  }, []);
}

export default function NotFound(): ReactElement {
  useSuffixRedirect();
  const ways = [guideLinks[0], guideLinks[3], apiLinks[0]];
  return (
    <main id="main" className="status" tabIndex={-1}>
      <p className="status__code">404</p>
      <h1>{ja.notFound.title}</h1>
      <p>{ja.notFound.text}</p>
      <p>{ja.notFound.report}</p>
      <p className="status__ways">{ja.notFound.ways}</p>
      <ul className="status__list">
        {ways.map((way) =>
          way ? (
            <li key={way.href}>
              <Link to={way.href}>{way.label}</Link>
            </li>
          ) : null,
        )}
      </ul>
      <Link className="button" to="/">
        {ja.notFound.home}
      </Link>
    </main>
  );
}

export function Head(): ReactElement {
  return <PageHead title={ja.notFound.title} description={ja.notFound.text} unlisted />;
}

import { Link, navigate } from 'gatsby';
import { type ReactElement, useEffect } from 'react';
import { ja } from '../strings/ja';
import { apiLinks, guideLinks } from '../theme/Navbar/items';
import { PageHead } from '../theme/PageHead';

/** On servers other than the site's server, a path with a suffix leads here: redirects to the path without it. */
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

import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { PageLink } from '../../types';

export function Paginator({
  previous,
  next,
}: {
  readonly previous?: PageLink;
  readonly next?: PageLink;
}): ReactElement | null {
  if (!previous && !next) return null;
  return (
    <nav className="paginator" aria-label={ja.paginator.label}>
      {previous ? (
        <Link className="paginator__link paginator__link--previous" to={previous.href} rel="prev">
          <span className="paginator__way">{ja.paginator.previous}</span>
          <span className="paginator__label">{previous.label}</span>
        </Link>
      ) : null}
      {next ? (
        <Link className="paginator__link paginator__link--next" to={next.href} rel="next">
          <span className="paginator__way">{ja.paginator.next}</span>
          <span className="paginator__label">{next.label}</span>
        </Link>
      ) : null}
    </nav>
  );
}

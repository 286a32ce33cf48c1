import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { DocVersion } from '../../types';
import { latestOf, sameRoute } from '../../versions';

interface Props {
  readonly siteName: string;
  readonly versions: readonly DocVersion[];
  readonly version: string;
  readonly route: string;
}

/** Banner of pages that are not of the latest version: the state of the version, and a link to the latest. */
export function DocVersionBanner({ siteName, versions, version, route }: Props): ReactElement | null {
  const own = versions.find((one) => one.name === version);
  const latest = latestOf(versions);
  if (!own || own.state === 'latest' || !latest) return null;
  return (
    <aside className="version-banner" data-state={own.state}>
      <p>{ja.version[own.state](siteName, own.label)}</p>
      <p>
        {ja.version.latestBefore}
        <Link to={sameRoute(route, own, latest)}>{ja.version.latestLink}</Link>
        {ja.version.latestAfter(latest.label)}
      </p>
    </aside>
  );
}

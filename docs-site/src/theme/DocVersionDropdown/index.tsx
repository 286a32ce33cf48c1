import { Link } from 'gatsby';
import { type ReactElement, useEffect } from 'react';
import type { DocVersion } from '../../types';
import { sameRoute, versionKey } from '../../versions';
import { Dropdown } from '../Dropdown';
import { storage } from '../storage';

interface Props {
  readonly path: string;
  readonly versions: readonly DocVersion[];
  readonly version: string;
}

/** One link for each version. Stores the chosen version, and deletes a stored version that no longer exists. */
export function VersionItems({
  path,
  versions,
  version,
  className,
}: Props & { readonly className: string }): ReactElement {
  const current = versions.find((one) => one.name === version);
  return (
    <>
      {versions.map((one) => (
        <li key={one.name}>
          <Link
            className={className}
            to={sameRoute(path.startsWith('/docs') || current?.prefix ? path : one.main, current, one)}
            aria-current={one.name === version ? 'true' : undefined}
            onClick={() => storage.set(versionKey, one.name)}
          >
            {one.label}
          </Link>
        </li>
      ))}
    </>
  );
}

export function DocVersionDropdown(props: Props): ReactElement {
  const { versions, version } = props;
  useEffect(() => {
    const kept = storage.get(versionKey);
    if (kept !== null && !versions.some((one) => one.name === kept)) storage.remove(versionKey);
  }, [versions]);
  return (
    <Dropdown name="version" label={versions.find((one) => one.name === version)?.label ?? version} end>
      <VersionItems {...props} className="dropdown__link" />
    </Dropdown>
  );
}

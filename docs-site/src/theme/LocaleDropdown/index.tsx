import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import { Dropdown } from '../Dropdown';

/** Dropdown with the only locale. Its link leads to the current page, with query and hash. */
export function LocaleItem({
  address,
  className,
}: {
  readonly address: string;
  readonly className: string;
}): ReactElement {
  return (
    <a className={className} href={address} lang={ja.locale} hrefLang={ja.locale} aria-current="true">
      {ja.localeName}
    </a>
  );
}

export function LocaleDropdown({ address }: { readonly address: string }): ReactElement {
  return (
    <Dropdown name="locale" icon="language" label={ja.localeName} end>
      <li>
        <LocaleItem address={address} className="dropdown__link" />
      </li>
    </Dropdown>
  );
}

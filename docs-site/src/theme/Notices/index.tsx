import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { DocumentPage } from '../../types';
import { Icon } from '../Icon';

function Notice({ kind }: { readonly kind: 'unlisted' | 'draft' }): ReactElement {
  return (
    <aside className="admonition admonition--warning" data-notice={kind}>
      <p className="admonition__title">
        <Icon name="warning" />
        {ja.notices[kind].title}
      </p>
      <p className="admonition__body">{ja.notices[kind].text}</p>
    </aside>
  );
}

/** Notices of draft and unlisted pages. */
export function Notices({ page }: { readonly page: Pick<DocumentPage, 'unlisted' | 'draft'> }): ReactElement {
  return (
    <>
      {page.unlisted ? <Notice kind="unlisted" /> : null}
      {page.draft ? <Notice kind="draft" /> : null}
    </>
  );
}

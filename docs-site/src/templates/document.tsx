import type { HeadProps, PageProps } from 'gatsby';
import type { ReactElement } from 'react';
import { DocSidebar } from '../theme/DocSidebar';
import { Fragment } from '../theme/Fragment';
import { PageHead } from '../theme/PageHead';
import { TOC } from '../theme/TOC';
import type { DocumentPage } from '../types';

export default function Document({ pageContext }: PageProps<object, DocumentPage>): ReactElement {
  return (
    <div className={`document document--${pageContext.kind}`}>
      <DocSidebar categories={pageContext.sidebar} />
      <main className="document__main">
        <h1>{pageContext.title}</h1>
        <Fragment address={pageContext.fragment} className={`prose ${pageContext.kind}`} />
      </main>
      {pageContext.toc.length > 0 ? <TOC items={pageContext.toc} /> : null}
    </div>
  );
}

export function Head({ pageContext }: HeadProps<object, DocumentPage>): ReactElement {
  return <PageHead {...pageContext} />;
}

import type { HeadProps, PageProps } from 'gatsby';
import type { ReactElement } from 'react';
import { Breadcrumbs, breadcrumbsJson } from '../theme/Breadcrumbs';
import { DocVersionBanner } from '../theme/DocVersionBanner';
import { Fragment } from '../theme/Fragment';
import { Notices } from '../theme/Notices';
import { PageHead } from '../theme/PageHead';
import { Paginator } from '../theme/Paginator';
import { TOC, TOCCollapsible } from '../theme/TOC';
import { useSite } from '../theme/useSite';
import type { DocumentPage } from '../types';
import { versions } from '../versions';

export default function Document({ pageContext: page }: PageProps<object, DocumentPage>): ReactElement {
  const { siteName } = useSite();
  // A reference uses the whole width. Its sidebar is its table of contents.
  const toc = page.kind === 'guide' && page.toc.length > 0 ? page.toc : undefined;
  return (
    <>
      <main id="main" className="document__main" tabIndex={-1}>
        <article className="document__article">
          <Breadcrumbs items={page.breadcrumbs} />
          <DocVersionBanner
            siteName={siteName}
            versions={page.versions ?? versions}
            version={page.version}
            route={page.route}
          />
          <Notices page={page} />
          <h1 className="document__title">{page.title}</h1>
          {page.kind === 'guide' ? <p className="document__lead">{page.description}</p> : null}
          {toc ? <TOCCollapsible items={toc} /> : null}
          <Fragment address={page.fragment} className={`prose prose--${page.kind}`} />
        </article>
        <Paginator previous={page.previous} next={page.next} />
      </main>
      {toc ? <TOC items={toc} /> : null}
    </>
  );
}

export function Head({ pageContext: page }: HeadProps<object, DocumentPage>): ReactElement {
  const { siteUrl } = useSite();
  return (
    <>
      <PageHead
        title={page.title}
        description={page.description}
        route={page.route}
        unlisted={page.unlisted}
      />
      <link rel="alternate" type="text/markdown" href={`${page.route}.md`} />
      <script
        type="application/ld+json"
        // biome-ignore lint/security/noDangerouslySetInnerHtml: JSON with < escaped; as a child React would escape the quotes
        dangerouslySetInnerHTML={{ __html: breadcrumbsJson(page.breadcrumbs, page.route, siteUrl) }}
      />
    </>
  );
}

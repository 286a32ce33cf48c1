import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import { useSite } from '../useSite';

interface Props {
  readonly title: string;
  readonly description: string;
  readonly route?: string;
  readonly unlisted?: boolean;
}

export function PageHead({ title, description, route, unlisted }: Props): ReactElement {
  const { siteName, siteUrl } = useSite();
  return (
    <>
      <title>{route === '/' ? siteName : ja.page.title(title, siteName)}</title>
      <meta name="description" content={description} />
      {route ? <link rel="canonical" href={`${siteUrl}${route}`} /> : null}
      {unlisted ? <meta name="robots" content="noindex, nofollow" /> : null}
    </>
  );
}

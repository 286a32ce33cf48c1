import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatsbySSR } from 'gatsby';
import { FragmentContext } from './src/theme/Fragment/context';
import { headScript } from './src/theme/headScript';
import { Layout } from './src/theme/Layout';
import { Root } from './src/theme/Root';

const read = (address: string) => readFileSync(join(process.cwd(), 'public', address), 'utf8');

export const wrapRootElement: GatsbySSR['wrapRootElement'] = ({ element }) => (
  <FragmentContext.Provider value={read}>
    <Root>{element}</Root>
  </FragmentContext.Provider>
);

export const wrapPageElement: GatsbySSR['wrapPageElement'] = ({ element, props }) => (
  <Layout location={props.location} pageContext={props.pageContext}>
    {element}
  </Layout>
);

export const onRenderBody: GatsbySSR['onRenderBody'] = ({ setHtmlAttributes, setHeadComponents }) => {
  setHtmlAttributes({ lang: 'ja', 'data-theme': 'light' } as Record<string, string>);
  setHeadComponents([
    <link key="icon" rel="icon" href="/favicon.svg" type="image/svg+xml" />,
    <meta key="scheme" name="theme-color" content="#1890ff" />,
    // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant of this site; it must run before the first paint
    <script key="head" dangerouslySetInnerHTML={{ __html: headScript }} />,
  ]);
};

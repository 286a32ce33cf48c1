import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatsbySSR } from 'gatsby';
import { colourScript } from './src/theme/ColorModeToggle/script';
import { FragmentContext } from './src/theme/Fragment/context';
import { Layout } from './src/theme/Layout';

const read = (address: string) => readFileSync(join(process.cwd(), 'public', address), 'utf8');

export const wrapRootElement: GatsbySSR['wrapRootElement'] = ({ element }) => (
  <FragmentContext.Provider value={read}>{element}</FragmentContext.Provider>
);

export const wrapPageElement: GatsbySSR['wrapPageElement'] = ({ element, props }) => <Layout {...props}>{element}</Layout>;

export const onRenderBody: GatsbySSR['onRenderBody'] = ({ setHtmlAttributes, setHeadComponents }) => {
  setHtmlAttributes({ lang: 'ja', 'data-theme': 'light' } as Record<string, string>);
  setHeadComponents([
    // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant of this site; it must run before the first paint
    <script key="colour" dangerouslySetInnerHTML={{ __html: colourScript }} />,
  ]);
};

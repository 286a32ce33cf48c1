import { watch } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gatsbyFiles, makeDist } from './build/dist.ts';
import { writeOutputs } from './build/outputs.ts';
import { loadModule } from './build/renderer.ts';
import { readSettings } from './build/settings.ts';
import { buildSite } from './build/site.ts';

const root = import.meta.dirname;
const output = resolve(root, 'public');
/** True for `make site-dev`, which shows drafts and follows changes. */
const forAuthors = process.env.NODE_ENV !== 'production';
const watched = [resolve(root, 'content'), resolve(root, '../gateway/openapi')];
const settleMs = 100;

let settings;
/** Files of this build and names of its scripts. The output folder also contains files of earlier builds. */
let written = [];
let scripts = [];
/** Sources of the pages, by route. */
let sources = new Map();

/** @type {import('gatsby').GatsbyNode['onPreInit']} */
export const onPreInit = ({ reporter }) => {
  try {
    settings = readSettings(process.env);
  } catch (error) {
    reporter.panic(error.message);
  }
};

/** Result of the last successful rendering. If a change cannot be rendered, the pages stay unchanged. */
let site;

/**
 * One node for all content. Gatsby's development server creates the pages again and notifies the browsers only if a
 * node changes. A page that is created at any other time waits for the next change.
 */
const contentNode = (revision) => ({
  id: 'site-content',
  internal: { type: 'SiteContent', contentDigest: String(revision) },
});

/** @type {import('gatsby').GatsbyNode['sourceNodes']} */
export const sourceNodes = ({ actions }) => {
  actions.createNode(contentNode(0));
  if (!forAuthors || site) return;
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => actions.createNode(contentNode(Date.now())), settleMs);
  };
  for (const folder of watched) watch(folder, { recursive: true }, changed);
};

/** @type {import('gatsby').GatsbyNode['createPages']} */
export const createPages = async ({ actions, reporter }) => {
  try {
    const made = await buildSite({ root, settings, drafts: forAuthors });
    written = writeOutputs(made, settings, root, output);
    sources = made.sources;
    site = made;
  } catch (error) {
    if (!site) reporter.panic(error.message);
    reporter.error(error.message);
  }
  const component = resolve(root, 'src/templates/document.tsx');
  for (const { page } of site.pages) actions.createPage({ path: page.route, component, context: page });
};

/** @type {import('gatsby').GatsbyNode['onCreateWebpackConfig']} */
export const onCreateWebpackConfig = ({ actions, stage, plugins }) => {
  // Settings for pages (src/theme/useSite.ts).
  const { siteName, providerName, siteUrl, announcementsUrl, inquiryUrl, mailingUrl } = settings;
  const shown = { siteName, providerName, siteUrl, announcementsUrl, inquiryUrl, mailingUrl };
  actions.setWebpackConfig({
    plugins: [plugins.define({ __SITE__: JSON.stringify(shown) })],
    // The browser version of this package needs `document`, which the worker for announcements does not have.
    resolve: {
      alias: {
        'decode-named-character-reference$': fileURLToPath(
          import.meta.resolve('decode-named-character-reference'),
        ),
      },
    },
  });
  if (stage !== 'build-javascript') return;
  const remember = (compilation) => {
    scripts = Object.keys(compilation.assets);
  };
  actions.setWebpackConfig({
    // Source maps of a production build are not used and cost seconds.
    devtool: false,
    plugins: [{ apply: (compiler) => compiler.hooks.afterEmit.tap('docs-site', remember) }],
  });
};

/** @type {import('gatsby').GatsbyNode['onPostBuild']} */
export const onPostBuild = async ({ reporter, getNodesByType }) => {
  try {
    const routes = getNodesByType('SitePage').map(({ path }) => path);
    const files = [...written, ...gatsbyFiles(routes, scripts, resolve(root, 'static'))];
    const { headScript } = await loadModule(root, 'src/theme/headScript.ts');
    await makeDist({ folder: output, files, headScript, sources }, resolve(root, 'dist'), settings);
  } catch (error) {
    reporter.panic(error.message);
  }
};

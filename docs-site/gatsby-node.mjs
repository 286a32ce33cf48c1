import { watch } from 'node:fs';
import { resolve } from 'node:path';
import { gatsbyFiles, makeDist } from './build/dist.ts';
import { writeOutputs } from './build/outputs.ts';
import { loadModule } from './build/renderer.ts';
import { readSettings } from './build/settings.ts';
import { buildSite } from './build/site.ts';

const root = import.meta.dirname;
const output = resolve(root, 'public');
/** `make site-dev` is for authors: it shows drafts and follows changes. */
const forAuthors = process.env.NODE_ENV !== 'production';
const watched = [resolve(root, 'content'), resolve(root, '../gateway/openapi')];
const settleMs = 100;

let settings;
/** What this build wrote itself, and the names of its scripts: files of earlier builds lie beside them. */
let written = [];
let scripts = [];
/** What its pages were made of, by route. */
let sources = new Map();

/** @type {import('gatsby').GatsbyNode['onPreInit']} */
export const onPreInit = ({ reporter }) => {
  try {
    settings = readSettings(process.env);
  } catch (error) {
    reporter.panic(error.message);
  }
};

async function makePages(actions) {
  const site = await buildSite({ root, settings, drafts: forAuthors });
  sources = site.sources;
  written = writeOutputs(site, settings, root, output);
  const component = resolve(root, 'src/templates/document.tsx');
  for (const { page } of site.pages) actions.createPage({ path: page.route, component, context: page });
}

/** Renders anew after a change; what cannot be rendered is told of and leaves the pages as they are. */
function follow(actions, reporter) {
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      makePages(actions).catch((error) => reporter.error(error.message));
    }, settleMs);
  };
  for (const folder of watched) watch(folder, { recursive: true }, changed);
}

/** @type {import('gatsby').GatsbyNode['createPagesStatefully']} */
export const createPagesStatefully = async ({ actions, reporter }) => {
  try {
    await makePages(actions);
  } catch (error) {
    reporter.panic(error.message);
  }
  if (forAuthors) follow(actions, reporter);
};

/** @type {import('gatsby').GatsbyNode['onCreateWebpackConfig']} */
export const onCreateWebpackConfig = ({ actions, stage, plugins }) => {
  // The settings that pages show (src/theme/useSite.ts).
  const { siteName, providerName, siteUrl, announcementsUrl, inquiryUrl, mailingUrl } = settings;
  const shown = { siteName, providerName, siteUrl, announcementsUrl, inquiryUrl, mailingUrl };
  actions.setWebpackConfig({ plugins: [plugins.define({ __SITE__: JSON.stringify(shown) })] });
  if (stage !== 'build-javascript') return;
  const remember = (compilation) => {
    scripts = Object.keys(compilation.assets);
  };
  actions.setWebpackConfig({
    // Source maps of a production build are of no use to readers and cost seconds.
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

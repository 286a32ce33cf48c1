import { watch } from 'node:fs';
import { resolve } from 'node:path';
import { makeDist } from './build/dist.ts';
import { writeOutputs } from './build/outputs.ts';
import { readSettings } from './build/settings.ts';
import { buildSite, writeFragments } from './build/site.ts';

const root = import.meta.dirname;
const output = resolve(root, 'public');
const settings = readSettings(process.env);
/** `make site-dev` is for authors: it shows drafts and follows changes. */
const forAuthors = process.env.NODE_ENV !== 'production';
const sources = [resolve(root, 'content'), resolve(root, '../gateway/openapi')];
const settleMs = 100;

/** Names of the scripts of this build; those of earlier ones lie beside them. */
let scripts = [];

/** What was rendered last: a change that cannot be rendered leaves the pages as they are. */
let site;

/**
 * One node that stands for all content. Only a changed node makes Gatsby's own server create the pages anew and tell
 * the browsers; a page that is created at any other time waits for the next event.
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
  for (const folder of sources) watch(folder, { recursive: true }, changed);
};

/** @type {import('gatsby').GatsbyNode['createPages']} */
export const createPages = async ({ actions, reporter }) => {
  try {
    site = await buildSite({ root, settings, drafts: forAuthors });
    writeFragments(site, output);
    writeOutputs(site, settings, root, output);
  } catch (error) {
    if (!site) reporter.panic(error.message);
    reporter.error(error.message);
  }
  const component = resolve(root, 'src/templates/document.tsx');
  for (const { page } of site.pages) actions.createPage({ path: page.route, component, context: page });
};

/** Source maps of a production build are of no use to readers and cost seconds. */
export const onCreateWebpackConfig = ({ actions, stage }) => {
  if (stage !== 'build-javascript') return;
  const remember = (compilation) => {
    scripts = Object.keys(compilation.assets);
  };
  actions.setWebpackConfig({
    devtool: false,
    plugins: [{ apply: (compiler) => compiler.hooks.afterEmit.tap('docs-site', remember) }],
  });
};

/** @type {import('gatsby').GatsbyNode['onPostBuild']} */
export const onPostBuild = async ({ reporter }) => {
  try {
    await makeDist(output, resolve(root, 'dist'), settings, scripts);
  } catch (error) {
    reporter.panic(error.message);
  }
};

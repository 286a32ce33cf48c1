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

async function makePages(actions) {
  const site = await buildSite({ root, settings, drafts: forAuthors });
  writeFragments(site, output);
  writeOutputs(site, settings, root, output);
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
  for (const folder of sources) watch(folder, { recursive: true }, changed);
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

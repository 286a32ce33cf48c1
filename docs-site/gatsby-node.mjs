import { resolve } from 'node:path';
import { makeDist } from './build/dist.ts';
import { writeOutputs } from './build/outputs.ts';
import { readSettings } from './build/settings.ts';
import { buildSite, writeFragments } from './build/site.ts';

const root = import.meta.dirname;
const output = resolve(root, 'public');
const settings = readSettings(process.env);
const drafts = process.env.NODE_ENV !== 'production';

let site;
/** Names of the scripts of this build; those of earlier ones lie beside them. */
let scripts = [];

/** @type {import('gatsby').GatsbyNode['createPages']} */
export const createPages = async ({ actions, reporter }) => {
  try {
    site = await buildSite({ root, settings, drafts });
  } catch (error) {
    reporter.panic(error.message);
    return;
  }
  writeFragments(site, output);
  writeOutputs(site, settings, root, output);
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

import { readSettings } from './build/settings.ts';

const settings = readSettings(process.env);

/** @type {import('gatsby').GatsbyConfig} */
export default {
  siteMetadata: settings,
  trailingSlash: 'never',
  polyfill: false,
  jsxRuntime: 'automatic',
  graphqlTypegen: false,
};

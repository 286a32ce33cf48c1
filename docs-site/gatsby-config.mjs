/** @type {import('gatsby').GatsbyConfig} */
export default {
  trailingSlash: 'never',
  polyfill: false,
  jsxRuntime: 'automatic',
  graphqlTypegen: false,
};

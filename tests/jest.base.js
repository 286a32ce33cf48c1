import base from '../jest.config.js';

/** Shared by the suites that are not unit tests; they differ in what they match and how long they may take. */
export const suite = (testMatch, extra = {}) => ({
  ...base,
  rootDir: '..',
  testMatch,
  testPathIgnorePatterns: ['/node_modules/'],
  ...extra,
});

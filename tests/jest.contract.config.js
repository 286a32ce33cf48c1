import base from '../jest.config.js';

/** The same operations on the embedded parts and on real servers, compared (decision 5). */
export default {
  ...base,
  rootDir: '..',
  testMatch: ['<rootDir>/tests/contract/**/*.contract.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 60_000,
};

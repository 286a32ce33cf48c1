import { suite } from './jest.base.js';

export default suite(['<rootDir>/tests/charts/**/*.test.ts'], {
  // Images are staged and built before the tests of a file.
  testTimeout: 240_000,
});

import { suite } from './jest.base.js';

export default suite(['<rootDir>/tests/e2e/**/*.test.ts'], {
  globalSetup: '<rootDir>/tests/e2e/global-setup.ts',
  globalTeardown: '<rootDir>/tests/e2e/global-teardown.ts',
  testTimeout: 60_000,
});

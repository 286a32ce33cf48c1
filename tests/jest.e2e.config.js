import { suite } from './jest.base.js';

export default suite(['<rootDir>/tests/e2e/**/*.test.ts'], {
  globalSetup: '<rootDir>/tests/e2e/global-setup.ts',
  globalTeardown: '<rootDir>/tests/e2e/global-teardown.ts',
  testTimeout: 60_000,
  // There is nothing behind the embedded stack that could be away or must be prepared.
  ...(process.env.STACK !== 'real' && {
    testPathIgnorePatterns: ['/node_modules/', '/tests/e2e/(outages|prepare)\\.test\\.ts$'],
  }),
});

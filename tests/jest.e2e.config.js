import { suite } from './jest.base.js';

export default suite(['<rootDir>/tests/e2e/**/*.test.ts'], {
  globalSetup: '<rootDir>/tests/e2e/global-setup.ts',
  globalTeardown: '<rootDir>/tests/e2e/global-teardown.ts',
  testTimeout: 60_000,
  testPathIgnorePatterns: [
    '/node_modules/',
    // There is nothing behind the embedded stack that could be away or must be prepared.
    ...(process.env.STACK === 'real' ? [] : ['/tests/e2e/(outages|prepare)\\.test\\.ts$']),
    // It starts a process for each service.
    ...(process.env.PROCESSES === 'one' ? ['/tests/e2e/prepare\\.test\\.ts$'] : []),
  ],
});

import { availableParallelism } from 'node:os';

/** Unit tests stand beside their source; end-to-end, architecture and fault tests have their own configs in tests/. */
export default {
  // In bare Node.js, which loads a module once a process: with Jest's own runner that took most of the time.
  // What a module keeps is shared by the files of one process.
  runner: '<rootDir>/tests/support/jest/runner.js',
  setupFiles: ['<rootDir>/tests/support/jest/setup.js'],
  setupFilesAfterEnv: ['<rootDir>/tests/support/jest/time-limit.js'],
  extensionsToTreatAsEsm: ['.ts'],
  cacheDirectory: '<rootDir>/.cache/jest',
  transform: {},
  testMatch: [
    '<rootDir>/{services,gateway,proto}/**/*.test.ts',
    '<rootDir>/tests/{audit,bench,faults,fuzz,mixed,run}/**/*.test.ts',
  ],
  // Much of a test's time is waiting, so that two cores take four files at a time.
  maxWorkers: Math.max(4, availableParallelism()),
  // Sources of earlier versions lie there, with packages of the same names.
  modulePathIgnorePatterns: ['<rootDir>/\\.cache/'],
  testPathIgnorePatterns: ['/node_modules/', '\\.contract\\.test\\.ts$'],
};

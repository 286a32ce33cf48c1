import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from './jest.base.js';

const e2e = join(import.meta.dirname, 'e2e');
// They start platforms of their own, whose processes are all today's.
const own = readdirSync(e2e)
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) =>
    /own-platform\.ts|startStack|manageProcess|'make'/.test(readFileSync(join(e2e, name), 'utf8')),
  );

/** The end-to-end suite on processes of mixed versions; started by tests/mixed/suite/run.ts. */
export default suite(['<rootDir>/tests/e2e/**/*.test.ts'], {
  globalSetup: '<rootDir>/tests/e2e/global-setup.ts',
  globalTeardown: '<rootDir>/tests/e2e/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/tests/mixed/suite/release-knows.ts'],
  testTimeout: 60_000,
  testPathIgnorePatterns: [
    '/node_modules/',
    ...own.map((name) => `/tests/e2e/${name.replaceAll('.', '\\.')}$`),
  ],
  // What the release promised is judged by its own documents.
  moduleNameMapper: {
    '^@headset-cloud/gateway/(openapi|testing)/(.*)$': `${process.env.MIXED_RELEASE}/gateway/src/$1/$2`,
  },
});

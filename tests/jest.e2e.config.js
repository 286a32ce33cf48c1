import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from './jest.base.js';

/** Files whose subject is that services are processes of their own, or that their servers fail. */
const aboutProcesses = [
  'audit',
  'core-loop',
  'observability',
  'outages',
  'prepare',
  'secret-key',
  'shares',
  'time-limits',
  'trace',
  'updates-crash',
];
/**
 * Files whose subject is a listener, a check of input, a rule of one service, the command line, or the removal of
 * records. The contract suite shows that the stores behave alike, so these files run on the embedded stack, and on the
 * real stack in `make test-long`.
 */
const withoutStores = [
  'activation-state',
  'client-versions',
  'connectivity',
  'device-notifications',
  'device-settings',
  'egress-proxy',
  'extension-calls',
  'forget',
  'forget-application',
  'hc',
  'headset-tls',
  'hostile-headsets',
  'hostile-listeners',
  'hostile-logs',
  'hostile-paths',
  'hostile-requests',
  'issuer-trouble',
  'log-secrets',
  'operators',
  'operators-files',
  'refusals',
  'status-warnings',
  'test-callbacks',
  'tokens-and-tenants',
];
/**
 * Files that run on the embedded stack as well if the real stack is there: the core loop, and every file with tests or
 * expected values that depend on the kind of stack.
 */
const dependsOnKind = /\bkind [!=]== '(embedded|real)'/;
const folder = join(import.meta.dirname, 'e2e');
const onBoth = readdirSync(folder)
  .filter((name) => name.endsWith('.test.ts') && dependsOnKind.test(readFileSync(join(folder, name), 'utf8')))
  .map((name) => name.replace('.test.ts', ''))
  .concat('core-loop');
const noStores = `/tests/e2e/(${withoutStores.join('|')})\\.test\\.ts$`;
const processes = `/tests/e2e/(${aboutProcesses.join('|')})\\.test\\.ts$`;
const allBut = (names) => `/tests/e2e/(?!(?:${names.join('|')})\\.)[^/]*\\.test\\.ts$`;
const { STACK: stack, PROCESSES: count, FILES: files } = process.env;

/**
 * Behaviour is tested with all services in one process: on the embedded stack, and, if the stores matter, on MongoDB,
 * Kafka and S3 (STACK=real, PROCESSES=one). STACK=embedded with FILES=without-stores runs the files that the latter
 * leaves out, and the files that depend on the kind of stack. STACK=real without PROCESSES starts a process for each
 * service and runs all files; with FILES=processes it runs only the files about processes.
 */
export default suite(['<rootDir>/tests/e2e/**/*.test.ts'], {
  globalSetup: '<rootDir>/tests/e2e/global-setup.ts',
  globalTeardown: '<rootDir>/tests/e2e/global-teardown.ts',
  // In bare Node.js, which loads a module once: Jest's own runner loads all modules again for each file.
  runner: '<rootDir>/tests/support/jest/runner.js',
  setupFiles: ['<rootDir>/tests/support/jest/setup.js'],
  setupFilesAfterEnv: ['<rootDir>/tests/support/jest/time-limit.js'],
  transform: {},
  maxWorkers: 1,
  testPathIgnorePatterns: [
    '/node_modules/',
    // No server is behind the embedded stack.
    ...(stack === 'real' ? [] : ['/tests/e2e/(outages|prepare)\\.test\\.ts$']),
    ...(stack === 'real' && count === 'one' ? [processes, noStores] : []),
    ...(files === 'without-stores' ? [allBut([...withoutStores, ...onBoth])] : []),
    ...(files === 'processes' ? [allBut(aboutProcesses)] : []),
  ],
});

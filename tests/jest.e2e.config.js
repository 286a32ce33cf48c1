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
/** Files whose subject is the gateway, the listener for headsets or the command line: they do not depend on the stores. */
const aboutEdges = ['hc', 'headset-tls', 'hostile-requests', 'issuer-trouble', 'tokens-and-tenants'];
const edges = `/tests/e2e/(${aboutEdges.join('|')})\\.test\\.ts$`;
const processes = `/tests/e2e/(${aboutProcesses.join('|')})\\.test\\.ts$`;
const { STACK: stack, PROCESSES: count, FILES: files } = process.env;

/**
 * Behaviour is tested with all services in one process, on the embedded stack and, where the stores matter, on MongoDB,
 * Kafka and S3 (STACK=real, PROCESSES=one). STACK=real without PROCESSES starts a process for each service; FILES=processes then runs only the
 * files above.
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
    ...(stack === 'real' && count === 'one' ? [processes, edges] : []),
    ...(files === 'processes' ? [`/tests/e2e/(?!(?:${aboutProcesses.join('|')})\\.)[^/]*\\.test\\.ts$`] : []),
  ],
});

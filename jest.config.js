/** Unit tests stand beside their source; end-to-end, architecture and fault tests have their own configs in tests/. */
export default {
  testEnvironment: 'node',
  // Not where temporary files are: those may lie in memory (tests/run.ts).
  cacheDirectory: '<rootDir>/.cache/jest',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'esnext' }, module: { type: 'es6' } },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!@headset-cloud/)'],
  testMatch: [
    '<rootDir>/{services,gateway,proto}/**/*.test.ts',
    '<rootDir>/tests/support/**/*.test.ts',
    '<rootDir>/tests/{faults,mixed}/**/*.test.ts',
  ],
  // Jest would leave one core to itself, and on two use only one.
  maxWorkers: '100%',
  // So that a busy machine is not taken for a broken one: no test measures time.
  testTimeout: 60_000,
  // Sources of earlier versions lie there, with packages of the same names.
  modulePathIgnorePatterns: ['<rootDir>/\\.cache/'],
  testPathIgnorePatterns: ['/node_modules/', '\\.contract\\.test\\.ts$'],
};

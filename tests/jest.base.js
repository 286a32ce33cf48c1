/** Shared by the suites that are not unit tests; they differ in what they match and how long they may take. */
export const suite = (testMatch, extra = {}) => ({
  rootDir: '..',
  testEnvironment: 'node',
  // Not where temporary files are: those may lie in memory (tests/run/steps.ts).
  cacheDirectory: '<rootDir>/.cache/jest',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'esnext' }, module: { type: 'es6' } },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!@headset-cloud/)'],
  // So that a busy machine is not taken for a broken one: no test measures time.
  testTimeout: 60_000,
  // Sources of earlier versions lie there, with packages of the same names.
  modulePathIgnorePatterns: ['<rootDir>/\\.cache/'],
  testMatch,
  testPathIgnorePatterns: ['/node_modules/'],
  ...extra,
});

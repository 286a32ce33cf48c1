/** Unit tests stand beside their source; end-to-end, architecture and fault tests have their own configs in tests/. */
export default {
  testEnvironment: 'node',
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
    '<rootDir>/tests/faults/**/*.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/', '\\.contract\\.test\\.ts$'],
};

import { suite } from './jest.base.js';

export default suite(['<rootDir>/tests/architecture/**/*.test.ts']);

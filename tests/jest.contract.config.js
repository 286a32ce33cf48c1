import { suite } from './jest.base.js';

/** The same operations on the embedded parts and on real servers, compared (rule C5). */
export default suite(['<rootDir>/tests/contract/**/*.contract.test.ts'], { testTimeout: 60_000 });

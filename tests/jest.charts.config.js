import { suite } from './jest.base.js';

/** Images and the chart: what can be judged without a cluster, and what needs the one of TEST_KUBE_CONTEXT. */
export default suite(['<rootDir>/tests/charts/**/*.test.ts'], { testTimeout: 120_000 });

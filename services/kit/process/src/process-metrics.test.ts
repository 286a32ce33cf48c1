import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import { createMetrics } from './process-metrics.ts';

test('each process reports its version', async () => {
  const text = await createMetrics('devices').getSingleMetricAsString('headset_build_info');
  expect(platformVersion()).toMatch(/^\d+\.\d+\.\d+/);
  expect(text).toContain(
    `version="${platformVersion()}",node="${process.versions.node}",service="devices"} 1`,
  );
});

import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { releasePassedBuffers } from './buffers.ts';

const MiB = 1024 * 1024;

test('the young generation, which holds the buffers, is collected after each 8 MiB of data', async () => {
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
      if (entry.detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) collections += 1;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  for (let passed = 0; passed < 512 * MiB; passed += 64 * 1024) releasePassedBuffers(64 * 1024);
  await waitFor('the collections', () => collections >= 512 / 8);
  observer.disconnect();
});

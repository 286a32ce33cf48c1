import { releasePassedBuffers } from './buffers.ts';

const MiB = 1024 * 1024;

test('buffers are released before more than 32 MiB of them are garbage', () => {
  const held = () => process.memoryUsage().arrayBuffers / MiB;
  const before = held();
  let most = 0;
  for (let passed = 0; passed < 512 * MiB; passed += 64 * 1024) {
    // Like a socket's reads: each has its own buffer, which is used once.
    const chunk = Buffer.from(new ArrayBuffer(64 * 1024));
    releasePassedBuffers(chunk.length);
    if (passed % MiB === 0) most = Math.max(most, held());
  }
  expect(most - before).toBeLessThan(32);
});

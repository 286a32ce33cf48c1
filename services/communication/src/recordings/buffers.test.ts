import { releasePassedBuffers } from './buffers.ts';

const MiB = 1024 * 1024;

test('what has passed is let go of before more than 32 MiB of it lie about', () => {
  const held = () => process.memoryUsage().arrayBuffers / MiB;
  const before = held();
  let most = 0;
  for (let passed = 0; passed < 512 * MiB; passed += 64 * 1024) {
    // As a socket's reads: each a buffer of its own, used once.
    const chunk = Buffer.from(new ArrayBuffer(64 * 1024));
    releasePassedBuffers(chunk.length);
    if (passed % MiB === 0) most = Math.max(most, held());
  }
  expect(most - before).toBeLessThan(32);
});

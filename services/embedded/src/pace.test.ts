import { expect, test } from '@jest/globals';
import { paced } from './pace.ts';

test('work with pauses ends after the current portion on a stop', async () => {
  const stopping = new AbortController();
  let pieces = 0;
  await paced(async () => {
    pieces += 1;
    if (pieces === 3) stopping.abort();
    return true;
  }, stopping.signal);
  expect(pieces).toBe(3);
});

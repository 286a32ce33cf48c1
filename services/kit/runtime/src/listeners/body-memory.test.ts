import { expect, it } from '@jest/globals';
import { BodyMemory, smallBodyBytes } from './body-memory.ts';

const mib = 1024 * 1024;
const full = expect.objectContaining({ code: 'unavailable', retryAfterMs: 1000 });

it('one client may use half of the memory for large bodies, all clients together all of it; small bodies do not count', () => {
  const memory = new BodyMemory();
  const taken = (clientId: string, many: number) =>
    Array.from({ length: many }, () => memory.take(clientId, mib));
  const a = taken('a', 32);
  expect(() => memory.take('a', mib)).toThrow(full);
  const b = taken('b', 32);
  expect(() => memory.take('c', smallBodyBytes + 1)).toThrow(full);
  memory.take('a', smallBodyBytes);
  a.pop()?.();
  expect(() => memory.take('b', mib)).toThrow(full);
  memory.take('c', mib)();
  for (const give of [...a, ...b]) give();
  expect(taken('a', 32)).toHaveLength(32);
});

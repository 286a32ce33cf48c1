import { expect, it } from '@jest/globals';
import { BodyRoom, smallBodyBytes } from './body-room.ts';

const mib = 1024 * 1024;
const full = expect.objectContaining({ code: 'unavailable', retryAfterMs: 1000 });

it('one client may use half of the memory for large bodies, all clients together all of it; small bodies do not count', () => {
  const room = new BodyRoom();
  const taken = (clientId: string, many: number) =>
    Array.from({ length: many }, () => room.take(clientId, mib));
  const a = taken('a', 32);
  expect(() => room.take('a', mib)).toThrow(full);
  const b = taken('b', 32);
  expect(() => room.take('c', smallBodyBytes + 1)).toThrow(full);
  room.take('a', smallBodyBytes);
  a.pop()?.();
  expect(() => room.take('b', mib)).toThrow(full);
  room.take('c', mib)();
  for (const give of [...a, ...b]) give();
  expect(taken('a', 32)).toHaveLength(32);
});

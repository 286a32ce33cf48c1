import { createLimiter } from './limiter.ts';

it('rejects calls beyond the limit of waiting calls, and runs all others in order', async () => {
  const limited = createLimiter(2, 3);
  const gate = Promise.withResolvers<void>();
  const begun: number[] = [];
  const work = (i: number) =>
    limited(async () => {
      begun.push(i);
      await gate.promise;
      return i;
    });
  const taken = [0, 1, 2, 3, 4].map(work);
  await expect(work(5)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  expect(begun).toEqual([0, 1]);
  gate.resolve();
  expect(await Promise.all(taken)).toEqual([0, 1, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  expect(await work(6)).toBe(6);
});

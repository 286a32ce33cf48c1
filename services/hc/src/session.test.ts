import { getEventListeners } from 'node:events';
import { ApiError } from './api.ts';
import { patiently } from './session.ts';

const note = () => {};

test('a call that hangs is left at once when the user ends it', async () => {
  const stop = new AbortController();
  const answer = patiently(() => new Promise<string>(() => {}), { stop: stop.signal, note });
  stop.abort();
  expect(await answer).toBeUndefined();
});

test('nothing is left behind by a call, however many there are', async () => {
  const stop = new AbortController();
  for (let i = 0; i < 20; i++) await patiently(async () => i, { stop: stop.signal, note });
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

test('a failure that does not pass is thrown, one that passes is told once until it changes', async () => {
  const stop = new AbortController();
  const told: string[] = [];
  const passing = (message: string) => new ApiError(3, message, { isPassing: true, retryAfterMs: 1 });
  const failures = [passing('a (503, request r1)'), passing('a (503, request r2)'), passing('b')];
  const call = async () => {
    const failure = failures.shift();
    if (failure) throw failure;
    return 'done';
  };
  const noted = { stop: stop.signal, note: (text: string) => void told.push(text.split('\n')[0] as string) };
  expect(await patiently(call, noted)).toBe('done');
  expect(told).toEqual(['a (503)', 'b', 'It answers again.']);
  const refused = new ApiError(4, 'no');
  await expect(patiently(() => Promise.reject(refused), noted)).rejects.toBe(refused);
});

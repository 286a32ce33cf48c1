import { getEventListeners } from 'node:events';
import { ApiError } from './api.ts';
import { untilSuccess } from './session.ts';

const note = () => {};

test('a hanging call is abandoned at once when the user stops it', async () => {
  const stop = new AbortController();
  const answer = untilSuccess(() => new Promise<string>(() => {}), { stop: stop.signal, note });
  stop.abort();
  expect(await answer).toBeUndefined();
});

test('calls leave no listeners behind, whatever their number', async () => {
  const stop = new AbortController();
  for (let i = 0; i < 20; i++) await untilSuccess(async () => i, { stop: stop.signal, note });
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

test('a permanent failure is thrown; a transient failure is reported once until it changes', async () => {
  const stop = new AbortController();
  const notes: string[] = [];
  const passing = (message: string) => new ApiError(3, message, { isTransient: true, retryAfterMs: 1 });
  const failures = [passing('a (503, request r1)'), passing('a (503, request r2)'), passing('b')];
  const call = async () => {
    const failure = failures.shift();
    if (failure) throw failure;
    return 'done';
  };
  const noted = { stop: stop.signal, note: (text: string) => void notes.push(text.split('\n')[0] as string) };
  expect(await untilSuccess(call, noted)).toBe('done');
  expect(notes).toEqual(['a (503)', 'b', 'The API answers again.']);
  const refused = new ApiError(4, 'no');
  await expect(untilSuccess(() => Promise.reject(refused), noted)).rejects.toBe(refused);
});

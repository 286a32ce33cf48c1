import { nextCheckMs, type Upload } from './upload.ts';

const upload: Upload = {
  ...{ id: 'u', artifactId: 'a', developerId: 'd', sizeBytes: 1 },
  expiresAtMs: 3_600_000,
  looks: 0,
  settled: false,
};
const lifetime = 3_600_000;

test('checks are a second apart at first and half a minute later on, and the last one is when the upload closes', () => {
  const delays = Array.from({ length: 40 }, (_, looks) => nextCheckMs({ ...upload, looks }, 0, lifetime));
  expect(delays[0]).toBe(1000);
  expect(delays[1]).toBe(1500);
  expect(delays.at(-1)).toBe(30_000);
  expect(delays.toSorted((a, b) => a - b)).toEqual(delays);
  expect(nextCheckMs({ ...upload, looks: 40 }, 7_199_000, lifetime)).toBe(7_200_000);
  // The check at its close failed: it is repeated later.
  expect(nextCheckMs(upload, 7_200_000, lifetime)).toBe(7_230_000);
});

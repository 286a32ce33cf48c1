import { readConfig } from '@headset-cloud/runtime/config.ts';
import { notifierConfig } from './config.ts';

const read = (env: Record<string, string> = {}) => readConfig(notifierConfig, env);

test('by default an attempt ends after 15 s, including 5 s to connect, and a callback is dead after 72 h, or up to 24 h later', () => {
  expect(read()).toMatchObject({
    NOTIFIER_CONNECT_TIMEOUT_MS: 5000,
    NOTIFIER_TOTAL_TIMEOUT_MS: 15_000,
    NOTIFIER_MAX_AGE_HOURS: 72,
    NOTIFIER_GRACE_HOURS: 24,
  });
});

test('by default a failing destination causes a notice after an hour, and dead callbacks each minute; production rejects much shorter times', () => {
  expect(read()).toMatchObject({ NOTIFIER_NOTICE_AFTER_MS: 3_600_000, NOTIFIER_NOTICE_EVERY_MS: 60_000 });
  for (const [key, tooLittle] of [
    ['NOTIFIER_NOTICE_AFTER_MS', '59999'],
    ['NOTIFIER_NOTICE_EVERY_MS', '9999'],
  ] as const) {
    read({ [key]: tooLittle });
    expect(() => read({ [key]: tooLittle, NODE_ENV: 'production' })).toThrow('the least in production');
  }
});

test.each([
  ['0.001', 0.001],
  ['1.5', 1.5],
  ['720', 720],
])('%s hours are accepted as maximum age', (text, hours) => {
  expect(read({ NOTIFIER_MAX_AGE_HOURS: text }).NOTIFIER_MAX_AGE_HOURS).toBe(hours);
});

test.each(['0', '0.0009', '720.1', '-1', '1e2', '.5', '5.', '72h'])(
  '%s hours are rejected as maximum age',
  (text) => {
    expect(() => read({ NOTIFIER_MAX_AGE_HOURS: text })).toThrow(
      `NOTIFIER_MAX_AGE_HOURS: "${text}" is not a number from 0.001 to 720.`,
    );
  },
);

import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { DestinationHealths } from './destination-health.ts';

test('the log has the reason for a failing destination, once', () => {
  const lines: object[] = [];
  const logger = { warn: (fields: object) => lines.push(fields), info: () => {} } as unknown as Logger;
  const health = new DestinationHealths({
    logger,
    watch: { failed: () => {}, delivered: () => {}, unset: () => {} },
    random: () => 0,
    rules: { maxInFlight: 1, failingAfter: 2, probeFirstMs: 1000, probeMaxMs: 1000 },
    probesOf: () => undefined as never,
  }).of('a-1', 'https://intranet.example');
  for (let i = 0; i < 3; i++) {
    health.breaker.enter();
    health.report('failed', 'a-1/deviceEvent', {
      statusCode: 0,
      error: 'ADDRESS_REFUSED: the address is not public',
    });
  }
  expect(lines).toEqual([{ lane: 'a-1/deviceEvent', error: 'ADDRESS_REFUSED: the address is not public' }]);
});

test('a probe of a failing destination counts for all its settings; another failure only for its own', () => {
  const heard: string[] = [];
  const health = new DestinationHealths({
    logger: { warn: () => {}, info: () => {} } as unknown as Logger,
    watch: {
      failed: (lane, reason) => heard.push(`${lane} ${reason}`),
      delivered: (lane) => heard.push(`${lane} delivered`),
      unset: () => {},
    },
    random: () => 0,
    rules: { maxInFlight: 1, failingAfter: 2, probeFirstMs: 1000, probeMaxMs: 1000 },
    probesOf: () => undefined as never,
  }).of('a-1', 'https://a.example');
  const user = { dispatch: () => {}, failing: () => {}, recovered: () => {} };
  for (const name of ['a-1/deviceEvent', 'a-1/soraEvent']) health.join({ ...user, name });
  const report = (word: 'failed' | 'delivered' | 'gone') => {
    heard.length = 0;
    health.breaker.enter();
    health.report(word, 'a-1/soraEvent', { statusCode: word === 'failed' ? 500 : 204, error: '' });
    return [...new Set(heard)].sort();
  };
  expect(report('failed')).toEqual(['a-1/soraEvent answered']);
  expect(report('failed')).toEqual(['a-1/deviceEvent answered', 'a-1/soraEvent answered']);
  expect(report('gone')).toEqual([]);
  expect(report('delivered')).toEqual(['a-1/soraEvent delivered']);
});

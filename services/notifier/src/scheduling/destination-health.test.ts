import type { Logger } from '@headset-cloud/kit/logger.ts';
import { DestinationHealths } from './destination-health.ts';

test('the log says why a destination is failing, once', () => {
  const lines: object[] = [];
  const logger = { warn: (fields: object) => lines.push(fields), info: () => {} } as unknown as Logger;
  const health = new DestinationHealths({
    logger,
    random: () => 0,
    rules: { maxInFlight: 1, failingAfter: 2, probeFirstMs: 1000, probeMaxMs: 1000 },
    probesOf: () => undefined as never,
  }).of('a-1', 'https://intranet.example');
  for (let i = 0; i < 3; i++) {
    health.breaker.enter();
    health.report('failed', 'a-1/deviceEvent', { error: 'ADDRESS_REFUSED: the address is not public' });
  }
  expect(lines).toEqual([{ lane: 'a-1/deviceEvent', error: 'ADDRESS_REFUSED: the address is not public' }]);
});

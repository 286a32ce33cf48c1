import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createFetch } from '@headset-cloud/outbound/fetch.ts';
import { expiredCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { KeySet } from './key-set.ts';

test('an expired certificate of the issuer makes tokens unavailable, and the log has the reason', async () => {
  let asked = 0;
  const server = createServer(expiredCertificate, (_, response) => {
    asked++;
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const lines: string[] = [];
  const keys = new KeySet({
    issuer: `https://localhost:${(server.address() as AddressInfo).port}`,
    logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    clock: { now: () => Date.now() },
    fetch: createFetch({ connectTimeoutMs: 2500 }),
  });
  await expect(keys.find('any', 'ES256')).rejects.toMatchObject({ code: 'unavailable' });
  expect(lines.join()).toContain("the issuer's keys cannot be fetched");
  expect(lines.join()).toContain('certificate has expired');
  // No request was sent over an unauthenticated connection.
  expect(asked).toBe(0);
  server.close();
});

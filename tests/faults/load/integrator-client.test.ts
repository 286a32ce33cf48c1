import type { ApiAnswer, ApiClient } from '@headset-cloud/demo/api.ts';
import { describe, expect, test } from '@jest/globals';
import { IntegratorClient } from './integrator-client.ts';

const call = { kind: 'command', method: 'PUT', path: '/commands' } as const;

/** Creates a client of an API that answers with these statuses and then with 201. */
function clientOf(statuses: readonly number[], clocks: { anyOff: boolean; anyWasOff: boolean }) {
  const left = [...statuses];
  const app = async (): Promise<ApiAnswer> => ({ status: left.shift() ?? 201, headers: {}, body: {} });
  return new IntegratorClient('app', { app } as unknown as ApiClient, () => 1, clocks);
}

describe('an integrator of the crash test', () => {
  const right = { anyOff: false, anyWasOff: false };
  const wasWrong = { anyOff: false, anyWasOff: true };

  test('a 401 is definitive if no clock was ever wrong', async () => {
    expect(await clientOf([401], right).call(call)).toMatchObject({ status: 401, attempts: 1 });
  });

  test('after a wrong clock, it repeats a call with new tokens up to the number of possible wrong tokens', async () => {
    expect(await clientOf([401, 401, 401], wasWrong).call(call)).toMatchObject({ status: 201, attempts: 4 });
  });

  test('after a wrong clock, it reports a 401 for a correct token', async () => {
    expect(await clientOf([401, 401, 401, 401], wasWrong).call(call)).toMatchObject({
      status: 401,
      attempts: 4,
    });
  });

  test('other refusals are final', async () => {
    expect(await clientOf([403], wasWrong).call(call)).toMatchObject({ status: 403, attempts: 1 });
  });
});

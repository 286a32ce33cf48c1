import { timeLeft } from '@headset-cloud/runtime/deadline.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { expect, test } from '@jest/globals';
import { startTestGateway } from './testing/gateway.ts';

const app = '/v1/applications/app-1';

test('a service that does not answer within the deadline is 503 with Retry-After', async () => {
  const hurried = await startTestGateway({ UPSTREAM_DEADLINE_MS: '50' });
  try {
    hurried.fakes.answers.getSettings = () => new Promise(() => {});
    const answer = await hurried.request('GET', app);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  } finally {
    await hurried.stop();
  }
});

test('all service calls of a request share one deadline, and a stalled service is called once for each request', async () => {
  const totalMs = 1000;
  const hurried = await startTestGateway({ UPSTREAM_DEADLINE_MS: String(totalMs) });
  try {
    const lefts: number[] = [];
    // The ownership check takes most of the time; later calls have the rest.
    hurried.fakes.answers.authorizeApplication = async () => {
      await waitFor('most of the time to pass', () => (timeLeft() ?? 0) < totalMs / 2, { intervalMs: 1 });
      return {};
    };
    let calls = 0;
    hurried.fakes.answers.getSettings = () => {
      calls += 1;
      lefts.push(timeLeft() ?? Number.NaN);
      return new Promise(() => {});
    };
    // On a busy machine the check may take all of the time. Then the service is not called, and the test tries again
    // with another application, whose owner is not cached yet.
    let tries = 0;
    await waitFor('a call after the check', async () => {
      tries += 1;
      expect((await hurried.request('GET', `${app}${tries}`)).status).toBe(503);
      return calls > 0;
    });
    expect(lefts[0]).toBeLessThan(totalMs / 2);
    calls = 0;
    const requests = 50;
    const again = () => hurried.request('GET', `${app}${tries}`);
    const answers = await Promise.all(Array.from({ length: requests }, again));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([503]));
    expect(calls / requests).toBeLessThanOrEqual(1.2);
    expect(calls).toBeGreaterThan(0);
  } finally {
    await hurried.stop();
  }
});

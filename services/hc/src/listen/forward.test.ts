import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type ServerResponse } from 'node:http';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { closed, listening } from '../testing/cloud.ts';
import { answerTimeoutMs, post } from './forward.ts';

/** Node.js publishes to this channel when a client has received the status and the headers of a response. */
const channel = 'http.client.response.finish';
let statuses = 0;
const onStatus = () => {
  statuses += 1;
};
beforeEach(() => {
  statuses = 0;
  subscribe(channel, onStatus);
});
afterEach(() => unsubscribe(channel, onStatus));

/** Posts to a server that sends what `answer` writes, and nothing more. */
async function posting(answer: (response: ServerResponse) => void) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    answer(response);
  });
  const url = new URL(await listening(server));
  const time = createFakeTime();
  const abort = new AbortController();
  const result = post(url, {}, '{}', { signal: abort.signal, key: 'the key', time });
  return {
    ...{ result, time, abort },
    arrived: () => waitFor('the request', () => requests === 1),
    answered: () => waitFor('the status', () => statuses === 1),
    close: () => closed(server),
  };
}

describe('an answer whose body does not end', () => {
  test.each([200, 500])('counts with its status %i after the time-out', async (status) => {
    const { result, time, answered, close } = await posting((response) =>
      response.writeHead(status).write('a beginning'),
    );
    await answered();
    await time.advance(answerTimeoutMs);
    expect(await result).toEqual({
      ...{ status, durationMs: 0, retryAfterMs: undefined },
      reason: status === 200 ? undefined : 'a beginning',
    });
    await close();
  });

  test('counts with its status when the user interrupts the request', async () => {
    const { result, abort, answered, close } = await posting((response) =>
      response.writeHead(204).flushHeaders(),
    );
    await answered();
    abort.abort();
    expect(await result).toMatchObject({ status: 204 });
    await close();
  });
});

test('without a status there is no answer', async () => {
  const { result, time, arrived, close } = await posting(() => {});
  await arrived();
  await time.advance(answerTimeoutMs);
  expect(await result).toMatchObject({ status: undefined, reason: 'no answer within 15 s' });
  expect(time.timers).toBe(0);
  await close();
});

import { connect } from 'node:net';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { createWebhookServer, type WebhookServer } from './server.ts';

let server: WebhookServer | undefined;
afterEach(() => server?.stop(0));

// withstands sora/form
test.each([
  ['is cut off', 'Content-Length: 100\r\n\r\n{"type":'],
  ['has a broken chunk', 'Transfer-Encoding: chunked\r\n\r\n8\r\n{"type":\r\nzz\r\n'],
])(
  'a webhook whose body %s is the sender’s fault: nothing is stored, and no error is logged',
  async (_, rest) => {
    const errors: unknown[] = [];
    const outcomes: string[] = [];
    let received = 0;
    const made = createWebhookServer({
      listen: { host: '127.0.0.1', port: 0 },
      receiver: {
        authenticate: async () => true,
        receive: async () => {
          received += 1;
          return 'stored';
        },
      },
      maxBytes: 65_536,
      logger: { error: (...line: unknown[]) => errors.push(line) } as unknown as Logger,
      onAnswer: (outcome) => outcomes.push(outcome),
    });
    server = made;
    await made.start();
    const socket = connect(made.port(), '127.0.0.1');
    socket.on('error', () => {});
    socket.end(`POST /webhooks/sora/one HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\n${rest}`);
    await waitFor('the outcome', () => outcomes.length > 0);
    expect([outcomes, received, errors]).toEqual([['refused'], 0, []]);
  },
);

import { randomBytes } from 'node:crypto';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { jest } from '@jest/globals';
import { openStudio, type Studio } from './testing/recordings.ts';

// Each opens a store of its own on the disk and waits for what happens in the background.
jest.setTimeout(30_000);

const traceparent = (): string =>
  `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
let studio: Studio;
beforeEach(async () => {
  studio = await openStudio();
  studio.world.set.add('soraRecGetPresignedUrl');
});
afterEach(() => studio.close());

const callbackOf = (event: string) =>
  waitFor(`the callback of ${event}`, async () =>
    (await studio.world.callbacks()).find(({ body }) => body.event === event),
  );
const traceOf = async ({ id }: { id: string }) => (await studio.world.traces())[id];

test('the trace of a webhook goes on in its callback, in the event and its header', async () => {
  const trace = traceparent();
  const [connection] = studio.connections;
  if (connection) await studio.sora.created(connection).send({ traceparent: trace });
  expect(await traceOf(await callbackOf('connection.created'))).toEqual([trace, trace]);
});

test('the trace of the webhook that completes a recording goes on in its notification', async () => {
  const recording = studio.sora.record(studio.connections);
  const traces = recording.webhooks.map(traceparent);
  for (const [i, webhook] of recording.webhooks.entries()) {
    await webhook.send({ traceparent: traces[i] ?? '' });
  }
  const notification = await studio.notification(recording);
  expect(await traceOf(notification)).toEqual([traces.at(-1), traces.at(-1)]);
});

test('the sweeper, a restart later, goes on with the trace that was stored', async () => {
  const trace = traceparent();
  const [connection] = studio.connections;
  studio.world.cutAt = 'communication.event-applied';
  if (connection) await studio.sora.created(connection).send({ traceparent: trace });
  await waitFor('the cut', () => studio.world.cutAt === undefined);
  await studio.world.restart();
  studio.world.nowMs += 60_000;
  expect(await traceOf(await callbackOf('connection.created'))).toEqual([trace, trace]);
});

test.each([
  ['no trace', ''],
  ['another version', '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['no ids', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
  ['anything else', 'hello'],
])('a webhook with %s is taken all the same, and names none', async (_, header) => {
  const [connection] = studio.connections;
  expect(connection && (await studio.sora.created(connection).send({ traceparent: header }))).toBe(200);
  expect(await traceOf(await callbackOf('connection.created'))).toEqual(['', undefined]);
});

import { randomBytes } from 'node:crypto';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { single, useStudio } from './testing/recordings.ts';

const traceparent = (): string =>
  `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
const use = useStudio(single);

const callbackOf = (event: string) =>
  waitFor(`the callback of ${event}`, async () =>
    (await use.studio.world.callbacks()).find(({ body }) => body.event === event),
  );
const traceOf = async ({ id }: { id: string }) => (await use.studio.world.traces())[id];

test('the trace of a webhook continues in its callback, in the event and its header', async () => {
  const trace = traceparent();
  const [connection] = use.studio.connections;
  if (connection) await use.studio.sora.created(connection).send({ traceparent: trace });
  expect(await traceOf(await callbackOf('connection.created'))).toEqual([trace, trace]);
});

test('the trace of the webhook that completes a recording continues in its notification', async () => {
  const recording = use.studio.sora.record(use.studio.connections);
  const traces = recording.webhooks.map(traceparent);
  for (const [i, webhook] of recording.webhooks.entries()) {
    await webhook.send({ traceparent: traces[i] ?? '' });
  }
  const notification = await use.studio.notification(recording);
  expect(await traceOf(notification)).toEqual([traces.at(-1), traces.at(-1)]);
});

test('the sweeper, a restart later, continues with the trace that was stored', async () => {
  const trace = traceparent();
  const [connection] = use.studio.connections;
  use.studio.world.cutAt = 'before log communication.notifications';
  if (connection) await use.studio.sora.created(connection).send({ traceparent: trace });
  await waitFor('the cut', () => use.studio.world.cutAt === undefined);
  await use.studio.world.restart();
  use.studio.world.nowMs += 60_000;
  expect(await traceOf(await callbackOf('connection.created'))).toEqual([trace, trace]);
});

test.each([
  ['no trace', ''],
  ['another version', '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['no ids', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
  ['anything else', 'hello'],
])('a webhook with %s is accepted and has no parent trace', async (_, header) => {
  const [connection] = use.studio.connections;
  expect(connection && (await use.studio.sora.created(connection).send({ traceparent: header }))).toBe(200);
  expect(await traceOf(await callbackOf('connection.created'))).toEqual(['', undefined]);
});

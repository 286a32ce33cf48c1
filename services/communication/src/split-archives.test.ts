import type { SimulatedConnection, Webhook } from '@headset-cloud/demo/sora/simulator.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { failures } from './domain/recording.ts';
import { single, useStudio } from './testing/recordings.ts';

const use = useStudio(single);

/** Sora's webhooks of one connection's split archive: each file, then the end. */
function splitWebhooks(recordingId: string, connection: SimulatedConnection, files: number): Webhook[] {
  const { channelId, connectionId } = connection;
  const hook = (type: string, data: Record<string, unknown>) =>
    use.studio.sora.webhook(type, {
      ...{ channel_id: channelId, connection_id: connectionId },
      data: { recording_id: recordingId, channel_id: channelId, connection_id: connectionId, ...data },
    });
  const index = (n: number) => String(n).padStart(4, '0');
  return [
    ...Array.from({ length: files }, (_, i) => {
      const name = `split-archive-${connectionId}_${index(i + 1)}`;
      return hook('split-archive.available', {
        ...{ split_index: index(i + 1), filename: `${name}.webm`, metadata_filename: `${name}.json` },
        size: 1000,
      });
    }),
    hook('split-archive.end', {
      ...{ split_last_index: index(files), filename: `split-archive-end-${connectionId}.json` },
    }),
  ];
}

const events = () => use.studio.world.store.collection('events').find({}).toArray();
const settled = () =>
  waitFor('all work to be done', async () =>
    (await events()).every((event) => event['dueAtMs'] === undefined),
  );

test('webhooks of split archives are only answered and stored; whole archives are sent', async () => {
  const recording = use.studio.sora.record(use.studio.connections);
  const hooks = use.studio.connections.flatMap((one) => splitWebhooks(recording.recordingId, one, 2));
  for (const hook of [...hooks, ...hooks]) expect(await hook.send()).toBe(200);
  await use.studio.sendWebhooks(recording);
  const { body } = await use.studio.notification(recording);
  await settled();
  const types = (await events()).map((event) => JSON.parse(event['body']).type as string);
  expect(types.filter((type) => type.startsWith('split-')).toSorted()).toEqual([
    ...Array.from({ length: 4 }, () => 'split-archive.available'),
    ...Array.from({ length: 2 }, () => 'split-archive.end'),
  ]);
  const published = (await use.studio.world.callbacks()).map(
    (callback) => callback.body.event ?? 'recording',
  );
  expect(published.toSorted()).toEqual(['archive.available', 'archive.available', 'recording']);
  expect(body).not.toHaveProperty('message');
  expect(use.studio.storage.stored.map(({ file }) => file).toSorted()).toEqual(
    [recording.reportFile, ...recording.jsonFiles, ...recording.webmFiles].toSorted(),
  );
});

test('a recording of only split archives fails with “archive is not found.” after the wait for whole archives', async () => {
  const recording = use.studio.sora.record(use.studio.connections.slice(0, 1));
  const [connection] = use.studio.connections;
  if (!connection) throw new Error('no connection');
  for (const file of [...recording.webmFiles, ...recording.jsonFiles]) use.studio.sora.archives.remove(file);
  for (const hook of splitWebhooks(recording.recordingId, connection, 3)) expect(await hook.send()).toBe(200);
  const report = recording.webhooks.at(-1);
  const data = report?.body['data'] as Record<string, unknown>;
  const { connectionId } = connection;
  Object.assign(data, {
    split_only: true,
    archives: [{ connection_id: connectionId, split_last_index: '0003' }],
  });
  expect(await report?.send()).toBe(200);
  await settled();
  expect(await use.studio.state(recording)).toBe('waiting');
  use.studio.world.nowMs += 600_000;
  const { body } = await use.studio.notification(recording);
  expect(body.message).toBe(failures.archive);
  expect(body.channel.connections).toEqual([
    { connectionId, jsonFile: recording.jsonFiles[0], webmFile: recording.webmFiles[0] },
  ]);
  expect(use.studio.world.asked).toEqual([]);
  expect(use.studio.storage.stored).toEqual([]);
});

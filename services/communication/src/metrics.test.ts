import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';
import { openRecordingStates } from './ports/recording-store.ts';
import { useStudio } from './testing/recordings.ts';
import { caller, endpoint } from './testing/world.ts';

const use = useStudio();

const samples = (name: string) => use.studio.world.metrics(name);

test('places are counted by endpoint, with its limit; a removed endpoint is not shown', async () => {
  const { world, sora } = use.studio;
  await world.admin.putEndpoint(endpoint('two', { connectionLimit: 3 }));
  await sora.created(use.studio.connections[0] ?? sora.join(use.studio.channelId)).send();
  await world.communication.createChannel({ caller: caller() });
  // A connection takes over the reservation of its channel.
  expect(await samples('headset_sora_connections_used')).toEqual([
    'headset_sora_connections_used{endpoint="one"} 1',
    'headset_sora_connections_used{endpoint="two"} 1',
  ]);
  expect(await samples('headset_sora_connections_limit')).toEqual([
    'headset_sora_connections_limit{endpoint="one"} 10',
    'headset_sora_connections_limit{endpoint="two"} 3',
  ]);
  // The reservations have expired. Only the connection is left, as soon as its webhook is handled.
  world.nowMs += 120_000;
  await waitFor('the connection to be counted', async () =>
    (await samples('headset_sora_connections_used')).includes(
      'headset_sora_connections_used{endpoint="one"} 1',
    ),
  );
  expect(await samples('headset_sora_connections_used')).toEqual([
    'headset_sora_connections_used{endpoint="one"} 1',
    'headset_sora_connections_used{endpoint="two"} 0',
  ]);
  await world.admin.removeEndpoint({ endpointId: 'two' });
  expect(await samples('headset_sora_connections_limit')).toEqual([
    'headset_sora_connections_limit{endpoint="one"} 10',
  ]);
  expect(await samples('headset_sora_connections_used')).toHaveLength(1);
});

test('channels are counted, and errors by their reason', async () => {
  const { world } = use.studio;
  await world.admin.putEndpoint(endpoint('one', { connectionLimit: 2 }));
  const create = (soraVersion = '') => world.communication.createChannel({ caller: caller(), soraVersion });
  await create();
  await expect(create()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(create('0.0.0')).rejects.toMatchObject({ code: 'invalid_body' });
  expect(await samples('headset_channels_total')).toEqual([
    'headset_channels_total{outcome="created"} 2',
    'headset_channels_total{outcome="unavailable"} 1',
    'headset_channels_total{outcome="invalid_body"} 1',
  ]);
});

test('open recordings are counted by state, with their age; parts and ended recordings by outcome', async () => {
  const { world, sora, storage } = use.studio;
  world.set.add('soraRecGetPresignedUrl');
  const open = (waiting: number, uploading: number) => [
    `headset_recordings_open{state="waiting"} ${waiting}`,
    `headset_recordings_open{state="uploading"} ${uploading}`,
    'headset_recordings_open{state="untold"} 0',
  ];
  expect(await samples('headset_recordings_open')).toEqual(open(0, 0));
  const recording = sora.record(use.studio.connections.slice(0, 1));
  const [available, report] = recording.webhooks;
  await available?.send();
  await waitFor('the recording', async () => (await use.studio.state(recording)) === 'waiting');
  world.nowMs += 5000;
  expect(await samples('headset_recordings_open')).toEqual(open(1, 0));
  expect(await samples('headset_recordings_oldest_open_age_seconds')).toEqual([
    'headset_recordings_oldest_open_age_seconds{state="waiting"} 5',
    'headset_recordings_oldest_open_age_seconds{state="uploading"} 0',
    'headset_recordings_oldest_open_age_seconds{state="untold"} 0',
  ]);
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  sora.archives.gate = gate;
  let refusals = 1;
  storage.trouble = () => (refusals-- > 0 ? { status: 503 } : undefined);
  await report?.send();
  await waitFor('the upload', async () => (await use.studio.state(recording)) === 'uploading');
  expect(await samples('headset_recordings_open')).toEqual(open(0, 1));
  openGate();
  await use.studio.notification(recording);
  expect(await samples('headset_recordings_open')).toEqual(open(0, 0));
  expect(await samples('headset_recordings_ended_total')).toEqual([
    'headset_recordings_ended_total{outcome="saved"} 1',
    'headset_recordings_ended_total{outcome="failed"} 0',
    'headset_recordings_ended_total{outcome="unset"} 0',
  ]);
  expect((await samples('headset_recording_parts_total')).toSorted()).toEqual([
    'headset_recording_parts_total{outcome="failed"} 1',
    'headset_recording_parts_total{outcome="stored"} 3',
  ]);
  // The report's 700 bytes, the webm's 1000, the metadata's 300.
  expect(await samples('headset_recording_stored_bytes_total')).toEqual([
    'headset_recording_stored_bytes_total 2000',
  ]);
  await available?.send();
  expect(await samples('headset_sora_webhooks_total')).toEqual([
    'headset_sora_webhooks_total{outcome="stored"} 2',
    'headset_sora_webhooks_total{outcome="repeated"} 1',
  ]);
});

test('while the database is unavailable, only the metrics that need it are missing', async () => {
  const registry = new Registry();
  let away = false;
  const answering =
    <T>(value: T) =>
    async (): Promise<T> => {
      if (away) throw new DomainError('unavailable', 'away');
      return value;
    };
  const open = { count: 2, oldestCreatedAtMs: 1000 };
  const place = { endpointId: 'one', connectionLimit: 10, places: [] };
  createMetrics(registry, {
    endpoints: { enabled: answering([place]) } as never,
    recordings: { backlog: answering({ waiting: open, uploading: open, untold: open }) },
    clock: { now: () => 4000 },
  });
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^headset_(recordings|sora)_/.test(line));
  const all = await values();
  expect(all).toEqual([
    ...openRecordingStates.map((state) => `headset_recordings_open{state="${state}"} 2`),
    ...openRecordingStates.map((state) => `headset_recordings_oldest_open_age_seconds{state="${state}"} 3`),
    'headset_sora_connections_used{endpoint="one"} 0',
    'headset_sora_connections_limit{endpoint="one"} 10',
    ...['saved', 'failed', 'unset'].map((end) => `headset_recordings_ended_total{outcome="${end}"} 0`),
    'headset_sora_silent_connections_billed_total 0',
  ]);
  away = true;
  expect(await values()).toEqual(all.filter((line) => /^headset_(recordings_ended|sora_silent)/.test(line)));
  away = false;
  expect(await values()).toEqual(all);
});

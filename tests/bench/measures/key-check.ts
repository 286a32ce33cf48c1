import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningMongo, startMongo } from '@headset-cloud/demo/stack/mongo.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { collections, type DeviceDocument } from '@headset-cloud/devices/store/documents.ts';
import { createHeadsetKeyStore } from '@headset-cloud/devices/store/headset-keys.ts';
import { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { GrpcChannel, RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { bind, createClient } from '@headset-cloud/rpc/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { openBaselineStore } from '../baselines/store.ts';
import type { Report } from '../lib/figures.ts';
import { processFigures } from '../lib/process-figures.ts';
import type { Settings } from '../lib/settings.ts';

const sessions = 10_000;
const keysPerCall = 1000;
const rounds = 10;
/** Default interval at which an instance checks all its sessions; milliseconds. */
const everyMs = 2000;

/**
 * Cost of checking the keys of 10,000 sessions (ADR 0038): processor time of both sides of the call and of
 * the driver in this process, and of a separate database, in ms per second of operation.
 */
export async function measureKeyCheck(kind: StackKind, _: Settings): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-keys-'));
  const given = process.env['MONGODB_URI'];
  const mongo: RunningMongo | undefined =
    kind === 'real' && !given ? await startMongo(join(directory, 'mongo')) : undefined;
  const mongodbUri = kind === 'real' ? (given ?? mongo?.uri) : undefined;
  const connection = await openBaselineStore({ directory, mongodbUri });
  const logger = createLogger({ service: 'bench', level: 'silent' });
  const devices = connection.database('keys').collection<DeviceDocument>(collections.devices);
  const store = createHeadsetKeyStore(devices);
  const server = new RpcServer(
    [
      bind(HeadsetKeysService, {
        checkHeadsetKeys: async ({ keys, withRecent }) => ({
          removed: await store.check(keys, Date.now()),
          recentDeviceIds: withRecent ? await store.recent(Date.now()) : [],
        }),
        getHeadsetKeys: async () => ({}),
        getCurrentActivation: async () => ({}),
      }),
    ],
    logger,
  );
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  try {
    const keys = Array.from({ length: sessions }, (_, n) => ({
      deviceId: String(35 * 10 ** 13 + n),
      keyId: String(n).padStart(43, 'k'),
    }));
    for (let i = 0; i < sessions; i += 500) {
      await devices.bulkWrite(
        keys.slice(i, i + 500).map(({ deviceId, keyId }) => ({
          updateOne: { filter: { _id: deviceId }, update: { $setOnInsert: document(keyId) }, upsert: true },
        })),
        { ordered: false },
      );
    }
    const client = createClient(HeadsetKeysService, channel, { deadlineMs: 30_000 });
    const check = async () => {
      for (let i = 0; i < sessions; i += keysPerCall) {
        const { removed } = await client.checkHeadsetKeys({ keys: keys.slice(i, i + keysPerCall) });
        if (removed.length > 0) throw new Error(`${removed.length} registered keys were not found`);
      }
    };
    // The first rounds store the last uses.
    for (let i = 0; i < sessions / keysPerCall; i += 1) await check();
    const database = () => (mongo ? processFigures(mongo.pid).cpuSeconds : 0);
    const [cpu, databaseSeconds, begunMs] = [process.cpuUsage(), database(), performance.now()];
    for (let i = 0; i < rounds; i += 1) await check();
    const used = process.cpuUsage(cpu);
    const roundMs = (performance.now() - begunMs) / rounds;
    const perSecond = (ms: number) => ms / rounds / (everyMs / 1000);
    return {
      figures: [
        {
          measure: 'key check of 10,000 sessions, CPU',
          unit: 'ms/s',
          ours: perSecond((used.user + used.system) / 1000),
          baseline: undefined,
          goal: undefined,
        },
        {
          measure: 'the same, CPU of MongoDB',
          unit: 'ms/s',
          ours: perSecond((database() - databaseSeconds) * 1000),
          baseline: undefined,
          goal: undefined,
        },
      ],
      notes: [
        `key check: a round of ${sessions} keys takes ${roundMs.toFixed(0)} ms, one each ${everyMs} ms.`,
      ],
    };
  } finally {
    await channel.close();
    await server.stop(0);
    await connection.close();
    await mongo?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A device of usual size, used recently or long ago. */
function document(keyId: string): Omit<DeviceDocument, '_id'> {
  const moment = { epoch: 1, reportId: 1, atMs: 1, value: 'x'.repeat(20) };
  return {
    keys: [{ keyId, publicKeyPem: 'p'.repeat(178), createdAtMs: 1 }],
    epoch: 1,
    lastTransactionId: 1,
    recent: [1],
    pending: [],
    lifecycle: [],
    reported: Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`field${n}`, moment]),
    ) as DeviceDocument['reported'],
  };
}

import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Service } from '@headset-cloud/process/service.ts';
import { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import {
  ApplicationsService,
  DevicesService,
  HeadsetFilesService,
  HeadsetKeysService,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { Registry } from 'prom-client';
import { buildDevices } from '../build.ts';
import type { DevicesConfig } from '../config.ts';
import { auditedCollections } from '../store/documents.ts';
import { RecordingTransactions } from './recording-transactions.ts';
import { SignedUrlsFake } from './signed-urls.ts';

/**
 * RPC deadline that is longer than a call takes on a slow machine. Only the test's own timeout ends a call that hangs.
 */
const longDeadline = { deadlineMs: 60_000 };

/** Time of a new world, long before `receivedAtMs` of its reports; milliseconds since 1970. */
export const activatedAtMs = 1_700_000_000_000;

/** A running devices service on the embedded store, with a recording fake of transactions. */
export interface World {
  readonly service: Service;
  readonly store: Store;
  readonly log: EventLog;
  readonly transactions: RecordingTransactions;
  /** The channel to all services of this world, including the recorder. */
  readonly channel: LocalChannel;
  readonly admin: Client<typeof DevicesAdminService>;
  readonly applications: Client<typeof ApplicationsService>;
  readonly devices: Client<typeof DevicesService>;
  readonly keys: Client<typeof HeadsetKeysService>;
  readonly files: Client<typeof HeadsetFilesService>;
  readonly signedUrls: SignedUrlsFake;
  readonly metrics: Registry;
  /** Error that every publish throws while it is set. */
  logFailure: Error | undefined;
  /** Error that every publish of audit records throws while it is set. */
  auditFailure: Error | undefined;
  /** Number of publishes that failed with this error. */
  logFailures: number;
  /** Bytes of each publish of the service, in order. */
  readonly publishedBytes: number[];
  /** Time of the service; milliseconds since 1970. */
  nowMs: number;
  /** The write at which the service crashes next (process/testing/crash-points.ts). */
  cutAt: string | undefined;
  /** Number of documents that queries have examined so far. */
  documentsExamined(): number;
  close(): Promise<void>;
}

export const testConfig: DevicesConfig = {
  ENDPOINT_SCHEMES: 'any',
  NOTIFIER_ALLOW_ADDRESSES: undefined,
  LIMIT_CALLS_PER_SECOND: 500,
  LIMIT_CALLS_BURST: 1000,
  LIMIT_CALLS_UNDER_WAY: 400,
  LIMIT_DEVICE_CHANGES_PER_SECOND: 50,
  LIMIT_DEVICE_UNPROCESSED: 1000,
  LIMIT_APPLICATION_UNPROCESSED: 1_000_000,
  DEVICES_SWEEP_INTERVAL_MS: 20,
  DEVICES_COMPLETE_AFTER_MS: 10_000,
  FILE_UPLOAD_LIMIT_BYTES: 1000,
  DEVICES_KEEP_REPORTED_DAYS: 30,
  RETENTION_PER_SECOND: 100_000,
  RETENTION_INTERVAL_MS: 3_600_000,
};

export async function openWorld(config: Partial<DevicesConfig> = {}): Promise<World> {
  const bed = openTestBed('devices', { onMongo: true });
  const { store, log } = bed;
  const channel = new LocalChannel();
  const transactions = new RecordingTransactions();
  const signedUrls = new SignedUrlsFake();
  const metrics = new Registry();
  const context = bed.context(
    {
      channel: () => channel,
      clock: { now: () => world.nowMs },
      metrics,
      log: {
        ...portOf(log),
        publish: async (topic, events) => {
          if (topic === topics.audit) {
            if (world.auditFailure) throw world.auditFailure;
            return log.publish(topic, events);
          }
          world.publishedBytes.push(events.reduce((sum, one) => sum + one.value.byteLength, 0));
          if (!world.logFailure) return log.publish(topic, events);
          world.logFailures += 1;
          throw world.logFailure;
        },
      },
    },
    () => world,
  );
  const service = buildDevices(context, { ...testConfig, ...config });
  const world: World = {
    service,
    store,
    log,
    transactions,
    channel,
    admin: createClient(DevicesAdminService, channel, longDeadline),
    applications: createClient(ApplicationsService, channel, longDeadline),
    devices: createClient(DevicesService, channel, longDeadline),
    keys: createClient(HeadsetKeysService, channel, longDeadline),
    files: createClient(HeadsetFilesService, channel, longDeadline),
    signedUrls,
    metrics,
    logFailure: undefined,
    auditFailure: undefined,
    logFailures: 0,
    publishedBytes: [],
    nowMs: activatedAtMs,
    cutAt: undefined,
    documentsExamined: bed.documentsExamined,
    async close() {
      await service.stop();
      await bed.remove();
    },
  };
  channel.register([transactions.binding, signedUrls.binding, ...service.rpc, ...service.admin]);
  await service.start();
  return world;
}

/** Waits until no document has a pending audit record. The service publishes and removes the records. */
export async function recordsPublished({ store }: Pick<World, 'store'>): Promise<void> {
  const pending = { auditAtMs: { $exists: true } };
  await waitFor('the records', async () => {
    const counts = auditedCollections.map((name) => store.collection(name).countDocuments(pending));
    return (await Promise.all(counts)).every((count) => count === 0);
  });
}

/**
 * Waits until the service has no background work: pending work of devices and pending audit records. Only then a test
 * sees the reads and writes of a single call.
 */
export async function atRest(world: Pick<World, 'store'>): Promise<void> {
  const pending = { $or: [{ dueAtMs: { $exists: true } }, { 'lifecycle.0': { $exists: true } }] };
  await waitFor(
    'the service to be at rest',
    async () => (await world.store.collection('devices').countDocuments(pending)) === 0,
  );
  await recordsPublished(world);
}

/** The writes of an activation, a deactivation or a reset: the change, its transaction, the end of the pending work. */
export const writesOfChange = [
  'after store devices.devices.activation',
  'after rpc devices.CreateTransaction',
  'after store devices.devices.pending 2',
];

/** The n-th test device's IMEI. */
export function imei(n: number): string {
  return String(356_938_035_000_000 + n);
}

/** An application `name` of a developer `dev` with its destination set and a contract. */
export async function provision(
  world: World,
  options: { name?: string; limit?: number; devices?: number } = {},
): Promise<string> {
  const applicationId = options.name ?? 'app';
  const developer = { developerId: 'dev', name: 'Dev', clientIds: ['dev-client'] };
  await world.admin.putDeveloper({ developer });
  await world.admin.createApplication({ application: { applicationId, developerId: 'dev', name: 'App' } });
  await world.admin.putContract({
    applicationId,
    activationLimit: options.limit ?? 10,
    addDeviceIds: Array.from({ length: options.devices ?? 3 }, (_, n) => imei(n)),
  });
  const caller = { clientId: 'dev-client', applicationId };
  await world.applications.updateSettings({ caller, set: { deviceEvent: 'https://example.com/events' } });
  await world.applications.refreshAuthenticationKey({ caller });
  return applicationId;
}

/** The caller of a call, with an Idempotency-Key if one is given. */
export function callerOf(applicationId: string, key?: string) {
  return {
    clientId: 'dev-client',
    applicationId,
    ...(key && { idempotency: { key, method: 'POST', path: '/p', bodySha256: new Uint8Array([1]) } }),
  };
}

/** The log's methods, bound: adapters are classes. */
function portOf(log: EventLog): EventLog {
  return {
    ensureTopics: (topics) => log.ensureTopics(topics),
    publish: (topic, events) => log.publish(topic, events),
    subscribe: (subscription) => log.subscribe(subscription),
    readNewest: (topic, limit) => log.readNewest(topic, limit),
    lag: (group, topic) => log.lag(group, topic),
    committed: (group, topic) => log.committed(group, topic),
    notReady: () => log.notReady(),
    close: () => log.close(),
  };
}

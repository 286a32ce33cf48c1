import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { cutOffAt } from '@headset-cloud/embedded/testing/bed.ts';
import { diskOf } from '@headset-cloud/embedded/testing/disk.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Service, ServiceContext } from '@headset-cloud/process/service.ts';
import type { Crash } from '@headset-cloud/process/testing/crash-points.ts';
import { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { FeedService } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { TestCallbacksService } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bind, createClient, type Handlers } from '@headset-cloud/rpc/types.ts';
import { systemTime } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { buildNotifier, type NotifierOverrides } from '../build.ts';
import { notifierConfig } from '../config.ts';

/** Destination and key of an application, as devices returns them; 'away': devices is unavailable. */
export type TestDestination = { url: string; authenticationKey: string } | 'away';

/** A notifier that is stopped at the end, with the listeners that tests use. */
export interface TestNotifier {
  readonly service: Service;
  readonly metrics: Registry;
  readonly admin: ReturnType<typeof createClient<typeof NotifierAdminService>>;
  readonly deliveries: ReturnType<typeof createClient<typeof DeliveriesService>>;
  readonly feed: ReturnType<typeof createClient<typeof FeedService>>;
  readonly signedUrls: ReturnType<typeof createClient<typeof SignedUrlsService>>;
  readonly tests: ReturnType<typeof createClient<typeof TestCallbacksService>>;
  stop(forMs?: number): Promise<void>;
}

/** The real store and log on a temporary directory, with any number of notifiers. devices is a fake with one RPC. */
export async function openWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'notifier-'));
  const logger = createLogger({ service: 'notifier', level: process.env['TEST_LOG'] ?? 'silent' });
  const disk = diskOf(directory);
  const database = openEmbeddedDatabase({ directory, walSync: disk.walSync });
  const connection = createEmbeddedStore(database);
  const log = createEmbeddedLog(database, logger);
  await log.ensureTopics([topics.notifications]);
  const destinations = new Map<string, TestDestination>();
  const reads = { count: 0 };
  const devices = new LocalChannel();
  const handlers: Partial<Handlers<typeof ApplicationsService>> = {
    async getDestination({ applicationId, setting }) {
      reads.count++;
      const found = destinations.get(`${applicationId}/${setting}`) ?? destinations.get(applicationId);
      if (found === 'away') throw new DomainError('unavailable', 'devices is unavailable');
      return found ?? { url: '', authenticationKey: '' };
    },
  };
  devices.register([bind(ApplicationsService, handlers as Handlers<typeof ApplicationsService>)]);
  const running: TestNotifier[] = [];
  let instances = 0;

  const start = async (
    env: Record<string, string> = {},
    overrides: NotifierOverrides & {
      /** The write at which the service crashes. */
      crash?: Crash;
      log?: (log: EventLog) => EventLog;
    } = {},
  ): Promise<TestNotifier> => {
    const metrics = new Registry();
    const { crash = { cutAt: undefined } } = overrides;
    const ctx: ServiceContext = cutOffAt(
      'notifier',
      {
        logger,
        clock: overrides.time ?? systemTime,
        store: connection.database('notifier'),
        log: overrides.log ? overrides.log(log) : log,
        channel: () => devices,
        metrics,
        instanceId: `notifier-${++instances}`,
      },
      () => crash,
    );
    const config = readConfig(notifierConfig, {
      NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
      NOTIFIER_BACKOFF_FIRST_MS: '5',
      NOTIFIER_BACKOFF_MAX_MS: '50',
      NOTIFIER_PROBE_MAX_MS: '50',
      NOTIFIER_SWEEP_MS: '20',
      NOTIFIER_LEASE_MS: '500',
      NOTIFIER_UNSET_RETRY_MS: '30',
      ...env,
    });
    const service = buildNotifier(ctx, config, overrides);
    const adminChannel = new LocalChannel();
    adminChannel.register([...service.admin, ...service.rpc]);
    await service.start();
    let stopped: Promise<void> | undefined;
    const notifier: TestNotifier = {
      service,
      metrics,
      admin: createClient(NotifierAdminService, adminChannel),
      deliveries: createClient(DeliveriesService, adminChannel),
      feed: createClient(FeedService, adminChannel),
      signedUrls: createClient(SignedUrlsService, adminChannel, { deadlineMs: 20_000 }),
      tests: createClient(TestCallbacksService, adminChannel, { deadlineMs: 20_000 }),
      stop: (forMs) => {
        stopped ??= service.stop(forMs);
        return stopped;
      },
    };
    running.push(notifier);
    return notifier;
  };

  return {
    disk,
    destinations,
    reads,
    store: connection.database('notifier'),
    start,
    /** The notifier that was started last. */
    get newest(): TestNotifier {
      return running.at(-1) as TestNotifier;
    },
    /** Publishes notifications, in order, under one key for each application. */
    async publish(...events: MessageInitShape<typeof NotificationEventSchema>[]): Promise<void> {
      await log.publish(
        topics.notifications,
        events.map((event) => ({ key: event.applicationId ?? '', value: encode(event) })),
      );
    },
    log,
    async close(): Promise<void> {
      disk.release();
      await Promise.all(running.map((notifier) => notifier.stop()));
      await log.close();
      await connection.close();
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A notifier with this dies when it has stored deliveries, before it can send one. */
export function onceStored(): Crash {
  return { cutAt: 'after store notifier.deliveries.insertMany' };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** A notification of application a-1 to deviceEvent by default. */
export function encode(event: MessageInitShape<typeof NotificationEventSchema>): Uint8Array {
  return toBinary(
    NotificationEventSchema,
    create(NotificationEventSchema, {
      destination: Destination.DEVICE_EVENT,
      createdAtMs: BigInt(Date.now()),
      body: Buffer.from(JSON.stringify({ id: event.notificationId })),
      ...event,
    }),
  );
}

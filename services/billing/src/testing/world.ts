import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { AuditAdminService } from '@headset-cloud/proto/audit/v1/admin_pb.ts';
import { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { UsageEventSchema, UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { DeviceLifecycleEventSchema, LifecycleKind } from '@headset-cloud/proto/devices/v1/events_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { MongoServerError } from 'mongodb';
import { Registry } from 'prom-client';
import { recordsCollection } from '../audit/documents.ts';
import { buildBilling } from '../build.ts';

/**
 * RPC deadline that is longer than a call takes on a slow machine. Only the test's own timeout ends a call that hangs.
 */
const longDeadline = { deadlineMs: 60_000 };

/** A running billing service on the embedded store and log. */
export interface World {
  readonly billing: Client<typeof BillingService>;
  readonly admin: Client<typeof BillingAdminService>;
  readonly audit: Client<typeof AuditAdminService>;
  readonly store: Store;
  readonly log: EventLog;
  /** Time of the service; milliseconds since 1970. */
  nowMs: number;
  /** The write at which the service crashes next (process/testing/crash-points.ts). */
  cutAt: string | undefined;
  /** Error of the audit store for new records; undefined: it works. */
  recordsFailure: Error | undefined;
  /** Why the service is not ready. */
  notReady(): string | undefined;
  /** Number of documents that queries have examined so far. */
  documentsExamined(): number;
  /** Publishes usage and waits until it is consumed. */
  use(...events: MessageInitShape<typeof UsageEventSchema>[]): Promise<void>;
  /** Publishes changes of activations and waits until they are consumed. */
  change(...events: MessageInitShape<typeof DeviceLifecycleEventSchema>[]): Promise<void>;
  /** Samples of a metric, in text format. */
  metrics(name: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function openWorld(zone = 'UTC+9', retentionMs = 3_600_000): Promise<World> {
  const bed = openTestBed('billing', { onMongo: true });
  const { store, log } = bed;
  const registry = new Registry();
  const channel = new LocalChannel();
  const service = buildBilling(
    bed.context(
      {
        channel: () => channel,
        store: refusing(store, () => world.recordsFailure),
        clock: { now: () => world.nowMs },
        metrics: registry,
      },
      () => world,
    ),
    {
      BILLING_TIME_ZONE: zone,
      BILLING_KEEP_USAGE_DAYS: 400,
      BILLING_KEEP_AUDIT_DAYS: 800,
      RETENTION_PER_SECOND: 100_000,
      RETENTION_INTERVAL_MS: retentionMs,
    },
  );
  const consumed = (group: string, topic: string) =>
    waitFor(`${topic} is consumed`, async () => (await log.lag(group, topic)) === 0, {
      timeoutMs: 60_000,
    });
  const world: World = {
    billing: createClient(BillingService, channel, longDeadline),
    admin: createClient(BillingAdminService, channel, longDeadline),
    audit: createClient(AuditAdminService, channel, longDeadline),
    store,
    log,
    nowMs: Date.UTC(2026, 10, 21),
    cutAt: undefined,
    recordsFailure: undefined,
    notReady: () => service.notReady?.(),
    documentsExamined: bed.documentsExamined,
    async metrics(name) {
      const text = await registry.getSingleMetricAsString(name);
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    },
    async use(...events) {
      await log.publish(
        topics.usage,
        events.map((event) => ({
          key: event.deviceId || event.applicationId || '',
          value: toBinary(
            UsageEventSchema,
            create(UsageEventSchema, { applicationId: 'app', kind: UsageKind.VIDEO_MEETING, ...event }),
          ),
        })),
      );
      await consumed('billing-usage', topics.usage);
    },
    async change(...events) {
      await log.publish(
        topics.deviceLifecycle,
        events.map((event) => ({
          key: event.deviceId ?? '',
          value: toBinary(
            DeviceLifecycleEventSchema,
            create(DeviceLifecycleEventSchema, {
              applicationId: 'app',
              kind: LifecycleKind.ACTIVATED,
              ...event,
            }),
          ),
        })),
      );
      await consumed('billing-lifecycle', topics.deviceLifecycle);
    },
    async close() {
      await service.stop();
      await bed.remove();
    },
  };
  channel.register([...service.rpc, ...service.admin]);
  await service.start();
  return world;
}

/** Rights on audit records without the right to change one (docs/operations/audit.md). */
const allowed = new Set(['find', 'findOne', 'countDocuments', 'insertMany', 'deleteMany', 'createIndexes']);

/** The store, without rights to change audit records, and failing to insert them while there is a failure. */
function refusing(store: Store, failure: () => Error | undefined): Store {
  return {
    ...store,
    collection(name, how) {
      const collection = store.collection(name, how);
      if (name !== recordsCollection) return collection as never;
      return new Proxy(collection, {
        get(target, property) {
          const value = Reflect.get(target, property, target);
          if (typeof value !== 'function') return value;
          return (...given: unknown[]) => {
            if (!allowed.has(String(property))) return Promise.reject(noRight(String(property)));
            const thrown = property === 'insertMany' ? failure() : undefined;
            return thrown ? Promise.reject(thrown) : value.apply(target, given);
          };
        },
      }) as never;
    },
  };
}

function noRight(call: string): MongoServerError {
  return new MongoServerError({ message: `not authorized on audit to execute ${call}`, code: 13 });
}

/** The n-th test device's IMEI. */
export function imei(n: number): string {
  return String(356_938_035_000_000 + n);
}

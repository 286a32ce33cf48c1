import { fromBinary } from '@bufbuild/protobuf';
import { openTestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bindSome } from '@headset-cloud/rpc/testing/bind-some.ts';
import { bind, type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { Registry } from 'prom-client';
import { buildCommunication, type CommunicationApp } from '../build.ts';
import type { CommunicationConfig } from '../config.ts';

/**
 * RPC deadline that is longer than a call takes on a slow machine. Only the test's own timeout ends a call that hangs.
 */
const longDeadline = { deadlineMs: 60_000 };

export const MiB = 1024 * 1024;

export const testConfig: CommunicationConfig = {
  COMMUNICATION_LISTEN: { host: '127.0.0.1', port: 0 },
  COMMUNICATION_RESERVATION_MS: 120_000,
  COMMUNICATION_CONNECTION_SILENT_MS: 300_000,
  COMMUNICATION_KEEP_DAYS: 90,
  COMMUNICATION_WEBHOOK_MAX_BYTES: 64 * 1024,
  COMMUNICATION_SWEEP_MS: 20,
  COMMUNICATION_LEFTOVER_AFTER_MS: 50,
  COMMUNICATION_EVENT_CLAIM_MS: 10_000,
  COMMUNICATION_RECORDING_WAIT_MS: 600_000,
  COMMUNICATION_RECORDINGS_AT_ONCE: 2,
  COMMUNICATION_RECORDING_LEASE_MS: 1000,
  COMMUNICATION_RECORDING_MAX_AGE_HOURS: 24,
  COMMUNICATION_PART_BYTES: 5 * MiB,
  COMMUNICATION_UPLOAD_ATTEMPTS: 3,
  COMMUNICATION_UPLOAD_STALL_MS: 5000,
  COMMUNICATION_UPLOAD_MIN_RATE: 65_536,
  COMMUNICATION_BACKOFF_FIRST_MS: 5,
  COMMUNICATION_BACKOFF_MAX_MS: 20,
  COMMUNICATION_SIGNED_URL_ATTEMPTS: 3,
  COMMUNICATION_SIGNED_URL_RENEWALS: 2,
  COMMUNICATION_ALLOW_ADDRESSES: '127.0.0.0/8',
  EGRESS_PROXY: undefined,
  EGRESS_PROXY_CREDENTIALS: undefined,
  EGRESS_NO_PROXY: undefined,
};

// biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
export type Body = any;

/** One published callback, its body parsed. */
export interface Callback {
  readonly id: string;
  readonly applicationId: string;
  readonly destination: number;
  readonly orderKey: string;
  readonly sequence: number;
  readonly body: Body;
}

/** A running communication service, with fakes in place of devices and notifier. */
export interface World {
  readonly store: Store;
  readonly log: EventLog;
  readonly admin: Client<typeof CommunicationAdminService>;
  readonly communication: Client<typeof CommunicationService>;
  /** Application by device, as stored by devices. */
  readonly associations: Map<string, string>;
  /** Number of next association calls that fail. */
  devicesFailures: number;
  /** Names of the settings that are set. */
  readonly set: Set<string>;
  /** Received requests for signed URLs. */
  readonly asked: { setting: string; body: Body }[];
  /** The integrator's answer; a DomainError is thrown. */
  signedUrls: (body: Body) => unknown;
  nowMs: number;
  /** Clock that decides when a transfer has stalled. */
  readonly stallTime: FakeTime;
  /** The write at which the service crashes next (process/testing/crash-points.ts). */
  cutAt: string | undefined;
  webhookUrl(): string;
  beginDrain(): void;
  /** The service's metrics by their names, each with its samples in text format. */
  metrics(name: string): Promise<string[]>;
  /** Published callbacks, including repeats. */
  callbacks(): Promise<Callback[]>;
  /** The callbacks' traces by their ids: in the event and in its header. */
  traces(): Promise<Record<string, readonly [string, string | undefined]>>;
  usage(): Promise<Body[]>;
  /** Starts another instance on the same data. */
  startAnother(): Promise<void>;
  /** Restarts the service as a new process on the same data. */
  restart(config?: Partial<CommunicationConfig>): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(config: Partial<CommunicationConfig> = {}): Promise<World> {
  const bed = openTestBed('communication', { onMongo: true });
  const { store, log } = bed;
  let app: CommunicationApp;
  let metrics: Registry;

  const others: CommunicationApp[] = [];

  function build(
    channel: LocalChannel,
    changed: Partial<CommunicationConfig> = {},
    registry = new Registry(),
  ): CommunicationApp {
    return buildCommunication(
      bed.context(
        {
          channel: () => channel,
          metrics: registry,
          clock: { now: () => world.nowMs },
        },
        () => world,
      ),
      { ...testConfig, ...config, ...changed },
      { stallTime: world.stallTime },
    );
  }

  async function open(changed: Partial<CommunicationConfig>): Promise<void> {
    const channel = new LocalChannel();
    metrics = new Registry();
    app = build(channel, changed, metrics);
    channel.register([...app.rpc, ...app.admin, ...fakes()]);
    Object.assign(world, {
      admin: createClient(CommunicationAdminService, channel, longDeadline),
      communication: createClient(CommunicationService, channel, longDeadline),
    });
    await app.start();
  }

  function fakes() {
    return [
      bindSome(DevicesService, {
        getAssociation: async ({ deviceId }) => {
          if (world.devicesFailures > 0) {
            world.devicesFailures -= 1;
            throw new DomainError('unavailable', 'devices is unavailable');
          }
          return { applicationId: world.associations.get(deviceId) ?? '' };
        },
      }),
      bindSome(ApplicationsService, {
        getDestination: async ({ setting }) => ({
          url: world.set.has(setting) ? 'https://example.com/' : '',
        }),
      }),
      bind(SignedUrlsService, {
        async requestSignedUrls({ setting, body }) {
          const asked = JSON.parse(Buffer.from(body).toString());
          world.asked.push({ setting, body: asked });
          return { body: Buffer.from(JSON.stringify(await world.signedUrls(asked))) };
        },
      }),
    ];
  }

  const world = {
    ...{ store, log, associations: new Map(), set: new Set(), asked: [] },
    devicesFailures: 0,
    signedUrls: () => ({}),
    nowMs: Date.now(),
    stallTime: createFakeTime(),
    cutAt: undefined,
    webhookUrl: () => `http://127.0.0.1:${app.webhookPort()}`,
    async callbacks() {
      const events = await log.readNewest(topics.notifications, 1000);
      return events.map(({ value }) => {
        const { notificationId, body, ...rest } = fromBinary(NotificationEventSchema, value);
        const { applicationId, destination, orderKey, sequence } = rest;
        const parsed = JSON.parse(Buffer.from(body).toString());
        return { id: notificationId, applicationId, destination, orderKey, sequence, body: parsed };
      });
    },
    async metrics(name: string) {
      const text = await metrics.getSingleMetricAsString(name);
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    },
    async traces() {
      const events = await log.readNewest(topics.notifications, 1000);
      return Object.fromEntries(
        events.map(({ value, headers }) => {
          const { notificationId, traceparent } = fromBinary(NotificationEventSchema, value);
          return [notificationId, [traceparent, headers['traceparent']]];
        }),
      );
    },
    async usage() {
      const events = await log.readNewest(topics.usage, 1000);
      return events.map(({ value }) => {
        const { $typeName: _, $unknown: __, ...usage } = fromBinary(UsageEventSchema, value);
        return { ...usage, startedAtMs: Number(usage.startedAtMs), durationMs: Number(usage.durationMs) };
      });
    },
    async startAnother() {
      const channel = new LocalChannel();
      channel.register(fakes());
      const another = build(channel);
      others.push(another);
      await another.start();
    },
    beginDrain: () => app.beginDrain?.(),
    async restart(changed = {}) {
      await app.stop();
      await open(changed);
    },
    async close() {
      await Promise.all([app, ...others].map((one) => one.stop()));
      await bed.remove();
    },
  } as unknown as World;
  await open({});
  return world;
}

/** A valid endpoint. */
export function endpoint(endpointId: string, changes: Record<string, unknown> = {}) {
  return {
    endpoint: {
      endpointId,
      signalingUrl: `wss://${endpointId}.example.com/signaling`,
      soraVersion: '2024.1.0',
      connectionLimit: 10,
      archiveUrl: '',
      webhookSecret: `secret-of-${endpointId}-0123456789`,
      ...changes,
    },
  };
}

export const caller = (key?: string) => ({
  clientId: 'client',
  applicationId: 'app',
  ...(key && { idempotency: { key, method: 'POST', path: '/p', bodySha256: new Uint8Array([1]) } }),
});

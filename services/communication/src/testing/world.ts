import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { type EventLog, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { LocalChannel } from '@headset-cloud/kit/rpc/local.ts';
import { bind, type Client, createClient } from '@headset-cloud/kit/rpc/types.ts';
import { createSecretBox } from '@headset-cloud/kit/secrets.ts';
import { connectMongo } from '@headset-cloud/kit/store/mongo.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import { UsageEventSchema } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { Registry } from 'prom-client';
import { buildCommunication, type CommunicationApp } from '../build.ts';
import type { CommunicationConfig } from '../config.ts';
import { collections } from '../store/documents.ts';

/** With MONGODB_URI the tests run on that MongoDB server. */
const mongoUri = process.env['MONGODB_URI'];

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
  /** Application by device, as devices knows them. */
  readonly associations: Map<string, string>;
  /** Number of association calls that devices fails. */
  devicesAway: number;
  /** Settings that are set. */
  readonly set: Set<string>;
  /** Received requests for signed URLs. */
  readonly asked: { setting: string; body: Body }[];
  /** The integrator's answer; a DomainError is thrown. */
  signedUrls: (body: Body) => unknown;
  nowMs: number;
  /** The failpoint at which the next work that reaches it is interrupted. */
  cutAt: string | undefined;
  webhookUrl(): string;
  /** The service's metrics by their names, each with its samples as they are shown. */
  metrics(name: string): Promise<string[]>;
  /** As published, repeats included. */
  callbacks(): Promise<Callback[]>;
  /** The callbacks' traces, by their ids: what the event says and what its header says. */
  traces(): Promise<Record<string, readonly [string, string | undefined]>>;
  usage(): Promise<Body[]>;
  /** One more instance on the same data. */
  startAnother(): Promise<void>;
  /** The service as a new process on the same data. */
  restart(config?: Partial<CommunicationConfig>): Promise<void>;
  close(): Promise<void>;
}

/** Thrown where a process would have died. */
export class CutOff extends Error {}

export async function openWorld(config: Partial<CommunicationConfig> = {}): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'communication-'));
  const db = openEmbeddedDatabase({ directory });
  const mongo = mongoUri
    ? await connectMongo({
        ...{ uri: mongoUri, appName: 'test', databasePrefix: `test_${randomUUID().slice(0, 8)}_` },
      })
    : undefined;
  const store = (mongo ?? createEmbeddedStore(db)).database('communication');
  const logger = createLogger({
    service: 'communication',
    level: (process.env['TEST_LOG'] as 'warn') ?? 'silent',
  });
  const log = createEmbeddedLog(db, logger);
  let app: CommunicationApp;
  let metrics: Registry;

  const others: CommunicationApp[] = [];

  function build(
    channel: LocalChannel,
    changed: Partial<CommunicationConfig> = {},
    registry = new Registry(),
  ): CommunicationApp {
    return buildCommunication(
      {
        ...{ logger, store, log, channel: () => channel, metrics: registry, instanceId: 'test' },
        clock: { now: () => world.nowMs },
        secrets: createSecretBox('a test secret of more than thirty-two characters'),
        failpoints(name) {
          if (world.cutAt !== name) return;
          world.cutAt = undefined;
          throw new CutOff(name);
        },
      },
      { ...testConfig, ...config, ...changed },
    );
  }

  async function open(changed: Partial<CommunicationConfig>): Promise<void> {
    const channel = new LocalChannel();
    metrics = new Registry();
    app = build(channel, changed, metrics);
    channel.register([...app.rpc, ...app.admin, ...fakes()]);
    Object.assign(world, {
      admin: createClient(CommunicationAdminService, channel),
      communication: createClient(CommunicationService, channel),
    });
    await app.start();
  }

  function fakes() {
    const unused = () => Promise.reject(new DomainError('internal', 'not faked'));
    return [
      bind(DevicesService, {
        getAssociation: async ({ deviceId }) => {
          if (world.devicesAway > 0) {
            world.devicesAway -= 1;
            throw new DomainError('unavailable', 'devices is away');
          }
          return { applicationId: world.associations.get(deviceId) ?? '' };
        },
        ...{ getActivation: unused, activateDevice: unused, deactivateDevice: unused, sendOperation: unused },
        ...{ resetDevice: unused, getHardwareProperties: unused, getDeviceStatus: unused },
        listDeviceStatuses: unused,
      }),
      bind(ApplicationsService, {
        getDestination: async ({ setting }) => ({
          url: world.set.has(setting) ? 'https://example.com/' : '',
        }),
        ...{
          authorizeApplication: unused,
          authorizeDeveloper: unused,
          getSettings: unused,
          updateSettings: unused,
        },
        refreshAuthenticationKey: unused,
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
    devicesAway: 0,
    signedUrls: () => ({}),
    nowMs: Date.now(),
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
    async restart(changed = {}) {
      await app.stop();
      await open(changed);
    },
    async close() {
      await Promise.all([app, ...others].map((one) => one.stop()));
      for (const name of Object.values(collections)) if (mongo) await store.collection(name).deleteMany({});
      await mongo?.close();
      await log.close();
      await db.close();
      rmSync(directory, { recursive: true });
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

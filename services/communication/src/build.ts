import { randomInt, randomUUID } from 'node:crypto';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { addressRules, parseNetworks } from '@headset-cloud/outbound/address-rules.ts';
import { createConfiguredConnector, createConnector } from '@headset-cloud/outbound/connector.ts';
import { egressProxyOf } from '@headset-cloud/outbound/egress-config.ts';
import { createResolver, type Resolve } from '@headset-cloud/outbound/resolve.ts';
import type { SealingContext, Service } from '@headset-cloud/process/service.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { bind } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { createForgetMarks, forgetMarksCollection } from '@headset-cloud/rules/forget/marks.ts';
import {
  createIdempotency,
  type IdempotencyDocument,
  sealedAnswers,
} from '@headset-cloud/rules/idempotency.ts';
import { backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { Agent } from 'undici';
import { communicationAdmin } from './admin/admin.ts';
import { createDevices } from './clients/devices.ts';
import { createRequestSignedUrls } from './clients/signed-urls.ts';
import type { CommunicationConfig } from './config.ts';
import { countedAllocator, countedUploader } from './counted.ts';
import { createConnectionEffects } from './events/effects.ts';
import { EventProcessor } from './events/processor.ts';
import { billSilent } from './events/silent.ts';
import { createChannelHandler } from './grpc/create-channel.ts';
import { listSoraVersionsHandler } from './grpc/list-sora-versions.ts';
import { createMetrics } from './metrics.ts';
import { createArchiveReader } from './recordings/archive.ts';
import { RecordingWorker } from './recordings/worker.ts';
import { createChannelStore } from './store/channels.ts';
import { createConnectionStore } from './store/connections.ts';
import {
  auditedCollections,
  type ChannelDocument,
  type ConnectionDocument,
  collections,
  type EndpointDocument,
  type EventDocument,
  type RecordingDocument,
  type SettingsDocument,
} from './store/documents.ts';
import { createEndpointStore } from './store/endpoints.ts';
import { createEventStore } from './store/events.ts';
import { createForgetStore } from './store/forget.ts';
import { createApplicationForgetStore } from './store/forget-application.ts';
import { createRecordingStore, sealedUrls } from './store/recordings.ts';
import { communicationSteps } from './store/steps.ts';
import { createReceiver } from './webhook/receive.ts';
import { createWebhookServer } from './webhook/server.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const connectTimeoutMs = 5000;

/** Replacements for tests. */
export interface CommunicationOverrides {
  readonly resolve?: Resolve;
  readonly randomBelow?: (n: number) => number;
  /** Clock that decides when a transfer has stalled. */
  readonly stallTime?: Time;
}

export interface CommunicationApp extends Service {
  /** The port of the webhook listener, once started. */
  webhookPort(): number;
}

/** The communication service: video-call channels, Sora's endpoints and webhooks, recordings. */
export function buildCommunication(
  ctx: SealingContext,
  config: CommunicationConfig,
  overrides: CommunicationOverrides = {},
): CommunicationApp {
  const { store, clock, secrets, logger, log } = ctx;
  const keepMs = config.COMMUNICATION_KEEP_DAYS * dayMs;
  const endpoints = createEndpointStore(
    store.collection<EndpointDocument>(collections.endpoints),
    store.collection<SettingsDocument>(collections.settings),
    { clock, reservationMs: config.COMMUNICATION_RESERVATION_MS },
  );
  const channelDocuments = store.collection<ChannelDocument>(collections.channels);
  const channels = createChannelStore(channelDocuments, keepMs);
  const eventDocuments = store.collection<EventDocument>(collections.events);
  const events = createEventStore(eventDocuments, keepMs);
  const connectionDocuments = store.collection<ConnectionDocument>(collections.connections);
  const connections = createConnectionStore(connectionDocuments, keepMs);
  const recordingDocuments = store.collection<RecordingDocument>(collections.recordings);
  const recordings = createRecordingStore(recordingDocuments, secrets, keepMs);
  const metrics = createMetrics(ctx.metrics, { endpoints, recordings, clock });
  const idempotencyDocuments = store.collection<IdempotencyDocument>(collections.idempotency);
  const idempotency = createIdempotency({ collection: idempotencyDocuments, secrets, clock });
  const audit = createAuditOutbox({
    ...{ log, clock, logger },
    metrics: ctx.metrics,
    collections: [...auditedCollections, forgetMarksCollection].map((name) => store.collection(name)),
  });
  const devices = createDevices(ctx.channel('devices'));
  const allocator = countedAllocator(metrics, {
    ...{ endpoints, channels, clock },
    reservationMs: config.COMMUNICATION_RESERVATION_MS,
  });

  const stallMs = config.COMMUNICATION_UPLOAD_STALL_MS;
  const { stallTime = systemTime } = overrides;
  // watchStalls detects stalls by the transferred bytes; undici's time-outs cover only some phases. The agents do not
  // limit the number of connections: a request that waits for a free connection would count as stalled.
  const agent = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  const connectOptions = { connectTimeoutMs, proxy: egressProxyOf(config) };
  const archiveAgent = new Agent({ ...agent, connect: createConfiguredConnector(connectOptions) });
  const storageAgent = new Agent({
    ...agent,
    connect: createConnector({
      rules: addressRules(parseNetworks(config.COMMUNICATION_ALLOW_ADDRESSES)),
      resolve: overrides.resolve ?? createResolver(connectTimeoutMs),
      ...connectOptions,
    }),
  });
  const uploader = countedUploader(metrics, {
    ...{ archives: archiveAgent, storage: storageAgent, stallMs },
    minRate: config.COMMUNICATION_UPLOAD_MIN_RATE,
    time: stallTime,
  });
  const backoffBounds = {
    firstMs: config.COMMUNICATION_BACKOFF_FIRST_MS,
    maxMs: config.COMMUNICATION_BACKOFF_MAX_MS,
  };
  const pauseMs = (failures: number) => backoffMs(failures, backoffBounds);
  const worker = new RecordingWorker({
    ...{ recordings, connections, endpoints, events, devices, uploader, clock, logger, log },
    archives: createArchiveReader(archiveAgent, stallMs, stallTime),
    requestSignedUrls: createRequestSignedUrls(ctx.channel('notifier')),
    backoffMs: pauseMs,
    pause: (failures, signal) => systemTime.sleep(pauseMs(failures), { signal }).catch(() => {}),
    partBytes: config.COMMUNICATION_PART_BYTES,
    uploadAttempts: config.COMMUNICATION_UPLOAD_ATTEMPTS,
    signedUrlAttempts: config.COMMUNICATION_SIGNED_URL_ATTEMPTS,
    renewals: config.COMMUNICATION_SIGNED_URL_RENEWALS,
    waitMs: config.COMMUNICATION_RECORDING_WAIT_MS,
    maxAgeMs: config.COMMUNICATION_RECORDING_MAX_AGE_HOURS * hourMs,
    drawClaim: () => `${ctx.instanceId}/${randomUUID()}`,
    atOnce: config.COMMUNICATION_RECORDINGS_AT_ONCE,
    leaseMs: config.COMMUNICATION_RECORDING_LEASE_MS,
    longestMs: Math.max(
      config.COMMUNICATION_RECORDING_LEASE_MS,
      config.COMMUNICATION_RECORDING_WAIT_MS,
      config.COMMUNICATION_BACKOFF_MAX_MS,
    ),
    intervalMs: config.COMMUNICATION_SWEEP_MS,
    pauseMs: config.COMMUNICATION_BACKOFF_MAX_MS,
    onEnd: metrics.recording,
  });

  const leftoverAfterMs = config.COMMUNICATION_LEFTOVER_AFTER_MS;
  const processor = new EventProcessor({
    ...{ events, recordings, log, clock, logger },
    claimMs: config.COMMUNICATION_EVENT_CLAIM_MS,
    longestMs: Math.max(config.COMMUNICATION_EVENT_CLAIM_MS, leftoverAfterMs),
    effects: createConnectionEffects({
      ...{ endpoints, connections, devices },
      silentMs: config.COMMUNICATION_CONNECTION_SILENT_MS,
    }),
    recordingWaitMs: config.COMMUNICATION_RECORDING_WAIT_MS,
    onRecordingReady: () => worker.wake(),
    onTimeReplaced: metrics.timeReplaced,
  });
  const sweeper = repeat("the sweep of Sora's events", config.COMMUNICATION_SWEEP_MS, logger, () =>
    processor.sweep(),
  );
  const silentBilling = repeat(
    'the billing of silent connections',
    config.COMMUNICATION_SWEEP_MS,
    logger,
    () =>
      billSilent({ ...{ connections, channels, log, clock, logger }, onBilled: metrics.silentConnection }),
  );
  const webhooks = createWebhookServer({
    listen: config.COMMUNICATION_LISTEN,
    receiver: createReceiver({
      ...{ endpoints, channels, events, processor, clock, logger, leftoverAfterMs },
    }),
    maxBytes: config.COMMUNICATION_WEBHOOK_MAX_BYTES,
    logger,
    onAnswer: metrics.webhook,
    ...(ctx.listeners && { listeners: ctx.listeners }),
  });
  let started = false;

  return {
    name: 'communication',
    rpc: [
      bind(CommunicationService, {
        createChannel: createChannelHandler({
          ...{ allocator, channels, idempotency, clock },
          randomBelow: overrides.randomBelow ?? ((n) => randomInt(n)),
        }),
        listSoraVersions: listSoraVersionsHandler(endpoints),
      }),
    ],
    admin: [
      communicationAdmin({
        ...{ endpoints, recordings, clock, audit },
        forgetting: {
          forgetting: createForgetStore(connectionDocuments, eventDocuments),
          forgettingApplications: createApplicationForgetStore({
            ...{ channels: channelDocuments, events: eventDocuments, recordings: recordingDocuments },
          }),
          marks: createForgetMarks(store, clock),
          audit,
        },
      }),
    ],
    sealed: [sealedUrls(recordingDocuments), sealedAnswers(idempotencyDocuments)],
    webhookPort: () => webhooks.port(),
    async start() {
      await prepared(ctx, communicationSteps);
      await log.ensureTopics([topics.notifications, topics.usage, topics.audit]);
      sweeper.start();
      silentBilling.start();
      audit.start();
      worker.start();
      await webhooks.start();
      started = true;
    },
    beginDrain: () => webhooks.beginDrain(),
    async stop(forMs) {
      started = false;
      // Half of the time; the other half is for the processing of received webhooks.
      await webhooks.stop(forMs === undefined ? undefined : forMs / 2);
      await Promise.all([sweeper.stop(), silentBilling.stop(), audit.stop()]);
      await processor.drain();
      await worker.stop();
      await uploader.close();
    },
    notReady: () => (started ? undefined : 'not started'),
  };
}

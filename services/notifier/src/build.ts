import { readinessByLog } from '@headset-cloud/eventlog/readiness.ts';
import { type RunningSubscription, topics } from '@headset-cloud/eventlog/types.ts';
import { callbackAddressesOf } from '@headset-cloud/outbound/callback-addresses.ts';
import { createConnector } from '@headset-cloud/outbound/connector.ts';
import { egressProxyOf } from '@headset-cloud/outbound/egress-config.ts';
import { createResolver, type Resolve } from '@headset-cloud/outbound/resolve.ts';
import type { Service, ServiceContext } from '@headset-cloud/process/service.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { FeedService } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { TestCallbacksService } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { bind } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { deadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import {
  createForgetMarks,
  type ForgetMarkDocument,
  forgetMarksCollection,
} from '@headset-cloud/rules/forget/marks.ts';
import { createIdempotency, type IdempotencyDocument } from '@headset-cloud/rules/idempotency.ts';
import { type Clock, systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { applicationForgetHandler } from './admin/forget-application.ts';
import { forgetHandler } from './admin/forget-device.ts';
import { getDelivery } from './admin/get-delivery.ts';
import { listDeliveries } from './admin/list-deliveries.ts';
import { redeliverDelivery } from './admin/redeliver-delivery.ts';
import { createDestinations } from './clients/destinations.ts';
import type { NotifierConfig } from './config.ts';
import { createNotificationsHandler } from './consumers/notifications.ts';
import { minAttempts } from './domain/time-limit.ts';
import { Feed } from './feed/feed.ts';
import { LogPositions } from './feed/log-positions.ts';
import { createForgottenApplications } from './forgotten-applications.ts';
import { findDeliveries } from './grpc/find-deliveries.ts';
import { readDelivery } from './grpc/read-delivery.ts';
import { readEvents } from './grpc/read-events.ts';
import { readRecovery, recoverDeliveries } from './grpc/recover.ts';
import { requestSignedUrls } from './grpc/request-signed-urls.ts';
import { sendAgain } from './grpc/send-again.ts';
import { sendTestCallback } from './grpc/send-test-callback.ts';
import { OriginPools } from './http/pools.ts';
import { UndiciRequester } from './http/requester.ts';
import { UndiciSender } from './http/sender.ts';
import { createMetrics } from './metrics.ts';
import { AttemptResults } from './notices/attempt-results.ts';
import { Notices } from './notices/notices.ts';
import { Recoveries } from './own/recoveries.ts';
import { Attempts } from './scheduling/attempts.ts';
import { ChangeWriter } from './scheduling/change-writer.ts';
import { DeliveryRecords } from './scheduling/delivery-records.ts';
import { DestinationHealths } from './scheduling/destination-health.ts';
import { FinishedOrders } from './scheduling/finished-orders.ts';
import { Probes } from './scheduling/probes.ts';
import { ReadinessCheck } from './scheduling/readiness.ts';
import { Scheduler } from './scheduling/scheduler.ts';
import { SignedUrls } from './signed-urls/request.ts';
import { DestinationSlots } from './signed-urls/slots.ts';
import { MongoDeliveryStore } from './store/deliveries.ts';
import type { DeliveryDocument } from './store/documents.ts';
import { createFeedStore } from './store/feed.ts';
import { createForgetStore } from './store/forget.ts';
import { deliveriesCollection, idempotencyCollection, recoveriesCollection } from './store/indexes.ts';
import { createNoticeStore } from './store/notices.ts';
import { createOwnDeliveries } from './store/own-deliveries.ts';
import { MongoProbeStore } from './store/probes.ts';
import { createRecoveryStore, type RecoveryDocument } from './store/recoveries.ts';
import { notifierSteps } from './store/steps.ts';
import { TestCallbacks } from './test-callbacks/test-callbacks.ts';

/** Stored answers of test callbacks contain no secret: only an id and the answer without keys and signatures. */
const unsealed: SecretBox = {
  seal: (plain) => Buffer.from(plain),
  open: (sealed) => Buffer.from(sealed).toString(),
};

const group = 'notifier';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** How long the outcome of a recovery can be read; milliseconds. */
const recoveryKeptMs = 30 * dayMs;

/** Replacements for tests. */
export interface NotifierOverrides {
  readonly resolve?: Resolve;
  readonly random?: () => number;
  /** Additional trusted certificates. */
  readonly ca?: string;
  /** Clocks and timers. Default: the host's wall clock, otherwise the machine's. */
  readonly time?: Time;
}

/**
 * The notifier: signed callbacks to integrators (rule C10). Throws when
 * NOTIFIER_ALLOW_ADDRESSES cannot be read.
 */
export function buildNotifier(
  ctx: ServiceContext,
  config: NotifierConfig,
  overrides: NotifierOverrides = {},
): Service {
  const { logger, instanceId } = ctx;
  const time: Time = overrides.time ?? { ...systemTime, now: () => ctx.clock.now() };
  const clock: Clock = time;
  const random = overrides.random ?? Math.random;
  const limit = {
    maxAgeMs: config.NOTIFIER_MAX_AGE_HOURS * hourMs,
    graceMs: config.NOTIFIER_GRACE_HOURS * hourMs,
    minAttempts,
  };
  const kept = {
    deliveredMs: config.NOTIFIER_KEEP_DELIVERED_DAYS * dayMs,
    deadMs: config.NOTIFIER_KEEP_DEAD_DAYS * dayMs,
  };
  const store = new MongoDeliveryStore(ctx.store, instanceId, kept, clock);
  const own = createOwnDeliveries(ctx.store);
  const committed = () => ctx.log.committed(group, topics.notifications);
  const feedStore = createFeedStore(ctx.store);
  const keptMs = Math.min(kept.deliveredMs, kept.deadMs);
  const feed = new Feed({ store: feedStore, committed, clock, keptMs });
  const maxPools = config.NOTIFIER_MAX_POOLS;
  const connect = createConnector({
    rules: callbackAddressesOf(config),
    resolve: overrides.resolve ?? createResolver(config.NOTIFIER_CONNECT_TIMEOUT_MS),
    connectTimeoutMs: config.NOTIFIER_CONNECT_TIMEOUT_MS,
    proxy: egressProxyOf(config),
    ...(overrides.ca && { ca: overrides.ca }),
  });
  const sender = new UndiciSender(new OriginPools({ maxPools, connect }), time, {
    totalTimeoutMs: config.NOTIFIER_TOTAL_TIMEOUT_MS,
    maxRetryAfterMs: config.NOTIFIER_BACKOFF_MAX_MS,
  });
  const writer = new ChangeWriter(store, logger, time);
  const finished = new FinishedOrders();
  const leaseMs = config.NOTIFIER_LEASE_MS;
  const records = new DeliveryRecords({ time, instanceId, leaseMs, writer });
  const rules = {
    backoff: { firstMs: config.NOTIFIER_BACKOFF_FIRST_MS, maxMs: config.NOTIFIER_BACKOFF_MAX_MS },
    limit,
  };
  const noticeStore = createNoticeStore(ctx.store, kept, clock);
  const afterMs = config.NOTIFIER_NOTICE_AFTER_MS;
  const failing = () => noticeStore.countOutages(clock.now() - afterMs);
  const metrics = createMetrics(ctx.metrics, store, failing, clock);
  const destinations = createDestinations(ctx.channel('devices'));
  const readiness = new ReadinessCheck({ time, store, writer, finished, records, leaseMs });
  const attempts = new Attempts({ clock, readiness, destinations, sender, metrics, rules, random });
  const signedUrlsInFlight = config.NOTIFIER_SIGNED_URL_CONCURRENCY;
  const signedUrls = new SignedUrls({
    time,
    destinations,
    requester: new UndiciRequester(new OriginPools({ maxPools, connect })),
    slots: new DestinationSlots({ maxInFlight: signedUrlsInFlight, maxWaiting: signedUrlsInFlight * 16 }),
    metrics,
    totalTimeoutMs: config.NOTIFIER_TOTAL_TIMEOUT_MS,
  });
  const tests = new TestCallbacks({
    ...{ time, destinations, connect, metrics },
    totalTimeoutMs: config.NOTIFIER_TOTAL_TIMEOUT_MS,
  });
  const idempotency = createIdempotency({
    collection: ctx.store.collection<IdempotencyDocument>(idempotencyCollection),
    ...{ secrets: unsealed, clock },
  });
  const marks = createForgetMarks(ctx.store, clock);
  const forgottenApplications = createForgottenApplications(marks, clock);
  const results = new AttemptResults(clock);
  const probes = new MongoProbeStore(ctx.store, limit.maxAgeMs + limit.graceMs, clock);
  const healths = new DestinationHealths({
    logger,
    random,
    time,
    watch: results,
    rules: {
      maxInFlight: config.NOTIFIER_ENDPOINT_CONCURRENCY,
      failingAfter: config.NOTIFIER_FAILING_AFTER,
      probeFirstMs: rules.backoff.firstMs,
      probeMaxMs: config.NOTIFIER_PROBE_MAX_MS,
    },
    probesOf: (destination) => new Probes(destination, { store: probes, time, logger }),
  });
  const scheduler = new Scheduler({
    ...{ time, logger, random, instanceId, store, writer, finished, records, attempts, healths, leaseMs },
    metrics,
    lanes: {
      limit,
      orderWaitMs: config.NOTIFIER_ORDER_WAIT_MS,
      windowSize: config.NOTIFIER_ENDPOINT_WINDOW,
      unsetRetryMs: config.NOTIFIER_UNSET_RETRY_MS,
    },
    maxInMemory: config.NOTIFIER_MAX_IN_MEMORY,
    sweepMs: config.NOTIFIER_SWEEP_MS,
    longestPauseMs: rules.backoff.maxMs,
  });
  const notices = new Notices({
    ...{ store: noticeStore, deliveries: store, destinations, forgottenApplications, metrics, time, logger },
    ...{ scheduler, results, afterMs, everyMs: config.NOTIFIER_NOTICE_EVERY_MS },
  });
  const forgetting = createForgetStore(ctx.store);
  const handle = createNotificationsHandler({
    store,
    forgottenApplications,
    scheduler,
    records,
    clock,
    positions: new LogPositions({ store: feedStore, committed, clock }),
  });
  const audit = createAuditOutbox({
    ...{ log: ctx.log, clock, logger },
    metrics: ctx.metrics,
    collections: [
      ctx.store.collection<DeliveryDocument>(deliveriesCollection),
      ctx.store.collection<ForgetMarkDocument>(forgetMarksCollection),
      ctx.store.collection<RecoveryDocument>(recoveriesCollection),
    ],
  });
  const recoveries = new Recoveries({
    store: createRecoveryStore(ctx.store, recoveryKeptMs),
    ...{ clock, logger, audit, scheduler },
    most: config.NOTIFIER_RECOVER_LIMIT,
    perSecond: config.NOTIFIER_RECOVER_PER_SECOND,
  });
  let subscription: RunningSubscription | undefined;

  return {
    name: 'notifier',
    rpc: [
      bind(SignedUrlsService, { requestSignedUrls: requestSignedUrls(signedUrls) }),
      bind(FeedService, { readEvents: readEvents(feed) }),
      bind(DeliveriesService, {
        findDeliveries: findDeliveries(own),
        readDelivery: readDelivery(store),
        sendAgain: sendAgain({ store, own, scheduler, clock, audit, idempotency }),
        recover: recoverDeliveries(recoveries, idempotency),
        readRecovery: readRecovery(recoveries),
      }),
      bind(TestCallbacksService, { sendTestCallback: sendTestCallback({ tests, idempotency }) }),
    ],
    admin: [
      bind(NotifierAdminService, {
        listDeliveries: listDeliveries(store, destinations),
        getDelivery: getDelivery(store, destinations),
        redeliverDelivery: redeliverDelivery({ store, destinations, scheduler, clock, audit }),
        ...forgetHandler({
          forgetting,
          deadLetters: deadLettersOfDevice(ctx.store, clock, { group, topic: topics.notifications }),
          ...{ marks, audit },
        }),
        ...applicationForgetHandler({ forgetting, forgottenApplications, marks, audit }),
      }),
    ],
    async start() {
      await prepared(ctx, notifierSteps);
      await ctx.log.ensureTopics([topics.notifications, topics.audit]);
      scheduler.start();
      audit.start();
      recoveries.start();
      notices.start();
      subscription = await ctx.log.subscribe({ topic: topics.notifications, group, handle });
    },
    async stop(forMs = 4000) {
      const endsAtMs = time.monotonicNow() + forMs;
      scheduler.retire();
      await Promise.all([subscription?.close(), ...[audit.stop(), recoveries.stop(), notices.stop()]]);
      tests.close();
      await Promise.all([scheduler.stop(Math.max(0, endsAtMs - time.monotonicNow())), signedUrls.close()]);
      await sender.close();
    },
    ...readinessByLog('callbacks', () => (subscription ? subscription.notReady() : 'not started')),
  };
}

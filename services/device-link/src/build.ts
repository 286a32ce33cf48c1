import type { ChannelOptions } from '@grpc/grpc-js';
import { topics } from '@headset-cloud/eventlog/types.ts';
import type { Service, ServiceContext } from '@headset-cloud/process/service.ts';
import { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import { HeadsetFilesService, HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { DownloadsService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { bind, createClient } from '@headset-cloud/rpc/types.ts';
import { raisedBy } from '@headset-cloud/rules/raised.ts';
import { monotonicMs, systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { Connections, countRejected } from '@headset-cloud/runtime/listeners/connections.ts';
import { defaultListeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { createAuthenticator } from './admission/authenticate.ts';
import { createDisplacementCounter, Displacements } from './admission/displacements.ts';
import { createKeyCheck } from './admission/key-check.ts';
import { PendingStreams } from './admission/pending-streams.ts';
import { createStreamRefusals } from './admission/refusals.ts';
import { Registrations } from './admission/registrations.ts';
import { StreamAcceptor } from './admission/stream-acceptor.ts';
import { createLimiter } from './calls/limiter.ts';
import { Peers } from './calls/peers.ts';
import { type DeviceLinkConfig, requireProductionReady, wantsProxyHeader } from './config.ts';
import { limits } from './domain/limits.ts';
import { closeSession } from './grpc/close-session.ts';
import { deliver } from './grpc/deliver.ts';
import { getPresence } from './grpc/get-presence.ts';
import { judgeAgain } from './grpc/judge-again.ts';
import type { DeliveryDeps } from './grpc/local-or-forward.ts';
import { withdraw } from './grpc/withdraw.ts';
import { takeFirstLease } from './presence/first-lease.ts';
import { SessionHub } from './presence/hub.ts';
import { OfflineReports } from './presence/offline-reports.ts';
import { Reconciler } from './presence/reconciler.ts';
import { createActivationReader } from './session/current-activation.ts';
import { createSessionMetrics } from './session/metrics.ts';
import { ReportMemory } from './session/report-memory.ts';
import { createEndedSessions } from './store/ended-sessions.ts';
import { createLeases } from './store/leases.ts';
import { createSessionDirectory } from './store/session-directory.ts';
import { deviceLinkSteps } from './store/steps.ts';
import { openHeadsetTls } from './transport/tls.ts';
import { connectMethod, transportLimitBytes } from './transport/wire.ts';

/** gRPC options. A dead connection is detected after the interval and the timeout of a ping: at most 28 s (rule C6). */
const streamOptions = (config: DeviceLinkConfig): ChannelOptions => ({
  'grpc.keepalive_time_ms': config.DEVICE_LINK_KEEPALIVE_MS,
  'grpc.keepalive_timeout_ms': config.DEVICE_LINK_KEEPALIVE_TIMEOUT_MS,
  'grpc.max_receive_message_length': transportLimitBytes,
  'grpc.max_concurrent_streams': limits.maxStreamsOfConnection,
});

/** Deadline of calls to devices, transactions and updates; milliseconds. */
const callDeadlineMs = 5000;
/** Maximum wait of a welcome for the headset's activation; milliseconds. */
const activationDeadlineMs = 2000;
/** Maximum duration of a stop without a parameter; milliseconds. */
const defaultStopMs = 5000;
/**
 * Share of a stop's time for closing the sessions. Of the remaining time, the same share is for the ends of their
 * streams.
 */
const drainShare = 0.75;
/**
 * Share of the hello deadline during which a new connection is not closed at the limit of connections. It may be in its
 * handshake.
 */
const youngShare = 0.3;
/** Maximum number of concurrent calls that one limiter allows. */
const maxConcurrentCalls = 64;

function noPeers(address: string): never {
  throw new Error(`There can be no other instance, but the directory names ${address}.`);
}

/**
 * The device-link service: the headsets' port and, for the other services, DeliveryService.
 * `linkPort` returns the port that headsets connect to, after the start.
 */
export function buildDeviceLink(
  ctx: ServiceContext,
  config: DeviceLinkConfig,
  time: Time = systemTime,
): Service & { linkPort(): number } {
  const { exclusive = false } = ctx;
  requireProductionReady(exclusive ? { ...config, ADVERTISE_ADDRESS: 'none' } : config, process.env);
  const { clock, logger, instanceId } = ctx;
  const leaseMs = config.DEVICE_LINK_LEASE_MS;
  const self = { instanceId, address: () => config.ADVERTISE_ADDRESS ?? '' };
  const leases = createLeases(ctx.store, clock, { ...self, leaseMs, logger });
  let raised = 0;
  const directory = createSessionDirectory(ctx.store, clock, self, leases, () => raised);
  const peers = new Peers(ctx.channelToPeer ?? noPeers, clock);
  const hub = new SessionHub(directory, logger, time);
  const reportMemory = new ReportMemory(config.DEVICE_LINK_QUEUED_REPORT_BYTES);
  const metrics = createSessionMetrics(
    ctx.metrics,
    () => hub.size,
    () => reportMemory.bytes,
  );
  const keys = createClient(HeadsetKeysService, ctx.channel('devices'), { deadlineMs: callDeadlineMs });
  const maxConnections = config.DEVICE_LINK_MAX_SESSIONS + config.DEVICE_LINK_MAX_WAITING;
  // Each headset causes two calls to devices: for its key and for its activation.
  const devicesLimiter = createLimiter(maxConcurrentCalls, 2 * maxConnections);
  const offline = new OfflineReports({
    sessions: createEndedSessions(ctx.store, instanceId, () => raised),
    leaseSinceMs: leases.unbrokenSinceMs,
    isAlive: async (id) => (await directory.addressOf(id)) !== undefined,
    log: ctx.log,
    ...{ clock, logger, instanceId },
    offlineAfterMs: config.DEVICE_LINK_OFFLINE_AFTER_MS,
  });
  const offlineReports = repeat(
    'reporting headsets as offline',
    offline.pollEveryMs,
    logger,
    () => offline.poll().then(() => 0),
    time,
  );
  const connections = new Connections(
    {
      most: maxConnections,
      mostOfAddress: config.DEVICE_LINK_CONNECTIONS_PER_ADDRESS ?? Number.POSITIVE_INFINITY,
      proxies: (ctx.listeners ?? defaultListeners).proxies,
    },
    countRejected(ctx.metrics)('headsets'),
    { clock: time, youngMs: config.DEVICE_LINK_HELLO_DEADLINE_MS * youngShare },
  );
  const pendingStreams = new PendingStreams({
    clock,
    time,
    logger,
    metrics,
    connections,
    refused: createStreamRefusals(ctx.metrics, logger),
    sessionCount: () => hub.size,
    helloDeadlineMs: config.DEVICE_LINK_HELLO_DEADLINE_MS,
    maxSessions: config.DEVICE_LINK_MAX_SESSIONS,
    maxWaiting: config.DEVICE_LINK_MAX_WAITING,
  });
  const registrations = new Registrations({ directory, hub, clock });
  const acceptor = new StreamAcceptor({
    authenticate: createAuthenticator({
      keys,
      audience: config.DEVICE_LINK_AUDIENCE,
      clock,
      logger,
      limiter: devicesLimiter,
    }),
    ...{ directory, hub, pendingStreams, registrations, peers, connections, clock, logger },
    maxSessions: config.DEVICE_LINK_MAX_SESSIONS,
    displacements: new Displacements({
      clock,
      count: createDisplacementCounter(ctx.metrics),
      onShared: (deviceId) =>
        logger.warn(
          { deviceId },
          'two headsets probably use one identity: their sessions displace each other',
        ),
    }),
    session: {
      transactions: createClient(DeliveryJudgeService, ctx.channel('transactions'), {
        deadlineMs: callDeadlineMs,
      }),
      reconciliationLimiter: createLimiter(maxConcurrentCalls, maxConnections),
      log: ctx.log,
      reportMemory,
      clock,
      logger,
      metrics,
      urls: {
        downloads: createClient(DownloadsService, ctx.channel('updates'), { deadlineMs: callDeadlineMs }),
        files: createClient(HeadsetFilesService, ctx.channel('devices')),
        downloadLimiter: createLimiter(maxConcurrentCalls, maxConnections),
      },
      currentActivation: createActivationReader({
        ...{ devices: keys, limiter: devicesLimiter, logger, deadlineMs: activationDeadlineMs, time },
      }),
      offerDeadlineMs: config.DEVICE_LINK_OFFER_DEADLINE_MS,
      onEnded: (session) => hub.ended(session),
      reconcileEveryMs: config.DEVICE_LINK_RECONCILE_INTERVAL_MS,
      ageMs: config.DEVICE_LINK_SESSION_AGE_MS,
    },
  });
  const keyCheck = createKeyCheck({
    sessions: () => [...pendingStreams.keyHolders(), ...hub.all()],
    keys,
    logger,
    everyMs: config.DEVICE_LINK_KEY_CHECK_MS,
  });
  const proxyHeader = wantsProxyHeader(config, ctx.listeners ?? defaultListeners);
  const tls = openHeadsetTls(config, { logger, metrics: ctx.metrics, connections });
  const link = new RpcServer([], logger, streamOptions(config), undefined, {
    ...(tls ?? { mode: 'plaintext', connections }),
    proxyHeader,
  });
  link.server.addService({ connect: connectMethod }, { connect: acceptor.connect });

  const isOnlyInstance = () => self.address() === '';
  const deps: DeliveryDeps = { hub, directory, peers, isOnlyInstance };
  const reconciler = new Reconciler({
    hub,
    directory,
    logger,
    monotonicNowMs: () => monotonicMs(clock),
    everyMs: config.DEVICE_LINK_RECONCILE_INTERVAL_MS,
  });
  const sweepEveryMs = Math.min(
    1000,
    config.DEVICE_LINK_OFFER_DEADLINE_MS / 4,
    config.DEVICE_LINK_HELLO_DEADLINE_MS / 4,
    config.DEVICE_LINK_RECONCILE_INTERVAL_MS / 4,
  );
  const timers: Timer[] = [];
  let port = 0;

  async function renew(): Promise<void> {
    try {
      const { lapsed } = await leases.renew();
      if (lapsed) {
        logger.warn({ sessions: hub.size }, 'the lease had expired, reconciling all sessions');
        reconciler.makeAllDue();
      }
      await hub.releaseEnded();
      await registrations.releaseUncertain();
      await peers.prune();
    } catch (error) {
      logger.error({ err: error }, 'the lease of this instance could not be renewed');
    }
  }

  return {
    name: 'device-link',
    rpc: [
      bind(DeliveryService, {
        deliver: deliver({ ...deps, logger }),
        withdraw: withdraw(deps),
        judgeAgain: judgeAgain(deps),
        getPresence: getPresence(deps),
        closeSession: closeSession(hub),
      }),
    ],
    admin: [],
    linkPort: () => port,
    async start() {
      await prepared(ctx, deviceLinkSteps);
      await ctx.log.ensureTopics([topics.transactionReports, topics.deviceReports]);
      const firstLease = async () => {
        raised = await raisedBy(ctx.store);
        const own = { address: self.address(), leaseMs, exclusive };
        await takeFirstLease(leases, own, () => hub.draining, time);
      };
      await (ctx.store.whenReachable?.('the first lease', firstLease) ?? firstLease());
      port = await link.start(config.DEVICE_LINK_LISTEN);
      timers.push(
        time.setInterval(() => void renew(), leaseMs / 3),
        time.setInterval(() => {
          hub.sweep();
          pendingStreams.sweep();
          void reconciler.reconcileDue();
        }, sweepEveryMs),
      );
      for (const timer of timers) timer.unref();
      // Headsets can reconnect from now on.
      offlineReports.start();
      keyCheck.start();
      logger.info({ port, tls: tls !== undefined }, 'headsets may connect');
    },
    async stop(forMs = defaultStopMs) {
      const beganMs = time.monotonicNow();
      for (const timer of timers) time.clearTimer(timer);
      // Awaited only after the drain: if the store does not answer, these stops take long and must not delay the drain.
      const pollsStopped = Promise.all([offlineReports.stop(), keyCheck.stop()]);
      const drained = hub.drain(forMs * drainShare);
      pendingStreams.drain();
      await drained;
      const leftMs = forMs - (time.monotonicNow() - beganMs);
      await link.stop(Math.min(limits.closeGraceMs, Math.max(0, leftMs * drainShare)));
      await leases.end().catch((error) => {
        logger.warn({ err: error }, 'the lease of this instance could not be ended, waiting for its expiry');
      });
      await pollsStopped;
      await peers.close();
    },
    notReady() {
      if (hub.draining) return 'draining';
      if (port === 0) return 'not listening yet';
      return leases.alive() ? undefined : 'the lease of this instance has expired (store unavailable?)';
    },
  };
}

import { readinessByLog } from '@headset-cloud/eventlog/readiness.ts';
import { type RunningSubscription, topics } from '@headset-cloud/eventlog/types.ts';
import { callbackAddressesOf } from '@headset-cloud/outbound/callback-addresses.ts';
import type { SealingContext, Service } from '@headset-cloud/process/service.ts';
import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { deadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import {
  createIdempotency,
  type IdempotencyDocument,
  sealedAnswers,
} from '@headset-cloud/rules/idempotency.ts';
import { raisedBy } from '@headset-cloud/rules/raised.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { createRetention } from '@headset-cloud/rules/retention/keeper.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import type { ActivationDependencies } from './activation/dependencies.ts';
import { createLifecycleEvents } from './activation/lifecycle.ts';
import { recallOverdue, sweepOverdue } from './activation/sweeper.ts';
import { adminBindings } from './admin/bindings.ts';
import type { DevicesConfig } from './config.ts';
import { deviceReportsGroup, deviceReportsHandler } from './consumers/device-reports.ts';
import { rpcBindings } from './grpc/bindings.ts';
import { createLimitsReader, defaultLimits } from './limits.ts';
import { createMetrics } from './metrics.ts';
import { createActivationStore } from './store/activations.ts';
import { createApplicationStore } from './store/applications.ts';
import { createContractStore } from './store/contracts.ts';
import { createDeveloperStore } from './store/developers.ts';
import { createDeviceReader, createDeviceRegistry, createReportStore } from './store/devices.ts';
import {
  type ApplicationDocument,
  auditedCollections,
  type ContractDeviceDocument,
  type ContractDocument,
  collections,
  type DeveloperClientDocument,
  type DeveloperDocument,
  type DeviceDocument,
  type HardwareModelDocument,
} from './store/documents.ts';
import { createForgetStore } from './store/forget.ts';
import { createApplicationForgetStore } from './store/forget-application.ts';
import { createHardwareModelStore } from './store/hardware-models.ts';
import { createHeadsetKeyStore } from './store/headset-keys.ts';
import { reportedOfDeactivated } from './store/retention.ts';
import { sealedAuthenticationKeys, sealedClientSecrets } from './store/sealed.ts';
import { openText, purposes } from './store/sealed-text.ts';
import { createSlotStore } from './store/slots.ts';
import { devicesSteps } from './store/steps.ts';

/** The devices service: applications, contracts, the device registry, activation, reported state, commands. */
export function buildDevices(ctx: SealingContext, config: DevicesConfig): Service {
  const { store, clock, secrets, logger } = ctx;
  const deviceDocuments = store.collection<DeviceDocument>(collections.devices);
  const devices = createActivationStore(deviceDocuments, clock, config.DEVICES_COMPLETE_AFTER_MS);
  const reader = createDeviceReader(deviceDocuments);
  const keys = createHeadsetKeyStore(deviceDocuments);
  const hardwareModels = createHardwareModelStore(
    store.collection<HardwareModelDocument>(collections.hardwareModels),
  );
  const metrics = createMetrics(ctx.metrics, () => devices.countPending());
  const lifecycle = createLifecycleEvents({ devices, log: ctx.log, logger });
  const contractDocuments = store.collection<ContractDocument>(collections.contracts);
  const contractDevices = store.collection<ContractDeviceDocument>(collections.contractDevices);
  const contracts = createContractStore(contractDocuments, contractDevices);
  const slots = createSlotStore(deviceDocuments);
  const applicationDocuments = store.collection<ApplicationDocument>(collections.applications);
  const applications = createApplicationStore(applicationDocuments, secrets);
  const developers = createDeveloperStore(
    store.collection<DeveloperDocument>(collections.developers),
    store.collection<DeveloperClientDocument>(collections.developerClients),
  );
  const audit = createAuditOutbox({
    ...{ log: ctx.log, clock, logger },
    metrics: ctx.metrics,
    collections: auditedCollections.map((name) => store.collection(name)),
  });
  const answers = store.collection<IdempotencyDocument>(collections.idempotency);
  const idempotency = createIdempotency({ collection: answers, secrets, clock });
  const transactions = createClient(TransactionsService, ctx.channel('transactions'));
  const activation: ActivationDependencies = {
    devices,
    contracts,
    slots,
    applications,
    transactions,
    openClientSecret: (deviceId, sealed) => openText(secrets, sealed, purposes.clientSecret(deviceId)),
    lifecycle,
    clock,
    logger,
  };

  const recallWork = recallOverdue(activation, config.DEVICES_COMPLETE_AFTER_MS);
  const sweeper = repeat(
    'the sweep of pending activations',
    config.DEVICES_SWEEP_INTERVAL_MS,
    logger,
    async () => {
      await recallWork();
      return await sweepOverdue(activation, config.DEVICES_COMPLETE_AFTER_MS);
    },
  );
  const reported = reportedOfDeactivated(deviceDocuments, config.DEVICES_KEEP_REPORTED_DAYS * dayMs, clock);
  const retention = createRetention({
    ...{ store, kinds: [reported], config, clock, logger },
    metrics: ctx.metrics,
  });
  let reports: RunningSubscription | undefined;

  return {
    name: 'devices',
    rpc: rpcBindings({
      activation,
      applications,
      developers,
      reader,
      keys,
      transactions,
      hardwareModels,
      signedUrls: createClient(SignedUrlsService, ctx.channel('notifier')),
      fileUploadLimitBytes: config.FILE_UPLOAD_LIMIT_BYTES,
      endpointRules: {
        httpsOnly: config.ENDPOINT_SCHEMES === 'https',
        mayReach: callbackAddressesOf(config).mayAllow,
      },
      metrics,
      idempotency,
      secrets,
      audit,
      limits: createLimitsReader(contracts, defaultLimits(config), clock),
    }),
    admin: adminBindings({
      developers,
      applications,
      contracts,
      slots,
      registry: createDeviceRegistry(deviceDocuments, () => raisedBy(ctx.store)),
      keys,
      hardwareModels,
      forgetting: createForgetStore(deviceDocuments),
      forgettingApplications: createApplicationForgetStore({
        ...{ applications: applicationDocuments, contracts: contractDocuments },
        ...{ contractDevices, devices: deviceDocuments },
      }),
      deadLetters: deadLettersOfDevice(store, clock, {
        group: deviceReportsGroup,
        topic: topics.deviceReports,
      }),
      clock,
      audit,
    }),
    sealed: [
      sealedAuthenticationKeys(applicationDocuments),
      sealedClientSecrets(deviceDocuments),
      sealedAnswers(answers),
    ],
    async start() {
      await prepared(ctx, devicesSteps);
      await ctx.log.ensureTopics([
        topics.deviceReports,
        topics.notifications,
        topics.usage,
        topics.deviceLifecycle,
        topics.audit,
      ]);
      reports = await ctx.log.subscribe({
        topic: topics.deviceReports,
        group: deviceReportsGroup,
        handle: deviceReportsHandler({
          store: createReportStore(deviceDocuments),
          reader,
          transactions,
          log: ctx.log,
          metrics,
        }),
      });
      sweeper.start();
      audit.start();
      retention.start();
    },
    async stop() {
      await reports?.close();
      reports = undefined;
      await Promise.all([sweeper.stop(), audit.stop(), retention.stop()]);
      await lifecycle.drain();
    },
    ...readinessByLog('headset reports', () => (reports ? reports.notReady() : 'not started')),
  };
}

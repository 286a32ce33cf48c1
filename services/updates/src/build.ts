import { topics } from '@headset-cloud/eventlog/types.ts';
import type { SealingContext, Service } from '@headset-cloud/process/service.ts';
import { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import {
  createIdempotency,
  type IdempotencyDocument,
  sealedAnswers,
} from '@headset-cloud/rules/idempotency.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { adminBindings } from './admin/bindings.ts';
import { createContentChecks, type RunningContentChecks } from './checks/content-checks.ts';
import type { UpdatesConfig } from './config.ts';
import { rpcBindings } from './grpc/bindings.ts';
import { createMetrics } from './metrics.ts';
import { chooseStorage } from './storage/choose.ts';
import { watchStorage } from './storage/watch.ts';
import { createCatalogue } from './store/catalogue.ts';
import {
  type ArtifactDocument,
  auditedCollections,
  collections,
  type PackageDocument,
  type ReservationsDocument,
  type UploadDocument,
} from './store/documents.ts';
import { createPackageNames } from './store/packages.ts';
import { updatesSteps } from './store/steps.ts';
import { createUploadReservations } from './store/upload-reservations.ts';
import { createUploadStore } from './store/uploads.ts';
import { answerUpload, refuseUpload } from './uploads/answer.ts';
import { createCheckNow } from './uploads/check-now.ts';
import { type Checker, createChecker } from './uploads/checker.ts';
import { createOpener } from './uploads/opener.ts';
import { createSweeper } from './uploads/sweeper.ts';

/** How long a call waits for the checks of uploads that it has started. */
const checkWaitMs = 1000;

/** The updates service: catalogue, uploads and updates of software and firmware. */
export function buildUpdates(
  ctx: SealingContext,
  config: UpdatesConfig,
  /** Tests replace this parameter. */
  contents: RunningContentChecks = createContentChecks({
    atOnce: config.UPDATES_CHECKS_AT_ONCE,
    timeoutMs: config.UPDATES_CHECK_SECONDS * 1000,
  }),
): Service {
  const { store, clock, secrets, logger } = ctx;
  const catalogue = createCatalogue(store.collection<ArtifactDocument>(collections.artifacts));
  const uploads = createUploadStore(store.collection<UploadDocument>(collections.uploads));
  const reservations = createUploadReservations(
    store.collection<ReservationsDocument>(collections.uploadPlaces),
    store.collection<UploadDocument>(collections.uploads),
  );
  const packages = createPackageNames(
    store.collection<PackageDocument>(collections.packages),
    store.collection<ArtifactDocument>(collections.artifacts),
    store.collection<UploadDocument>(collections.uploads),
  );
  const idempotencyDocuments = store.collection<IdempotencyDocument>(collections.idempotency);
  const idempotency = createIdempotency({ collection: idempotencyDocuments, secrets, clock });
  const uploadIdOf = (key: string) => key.replace(/^uploads\//, '');
  const files = chooseStorage(ctx, config, {
    onUpload: (key) => refuseUpload({ uploads, catalogue }, uploadIdOf(key)),
    onUploaded: (key, tag) => answerUpload(check, uploadIdOf(key), tag),
  });
  const { storage } = files;
  const { onOutcome, onDiskFull, onCheck } = createMetrics(ctx.metrics, { uploads, contents, clock });
  const watch = watchStorage({
    ...{ storage, logger, onCheck, location: files.location },
    intervalMs: config.UPDATES_STORAGE_WATCH_MS,
  });
  const check: Checker = createChecker({
    ...{ packages, catalogue, uploads, storage, contents, clock, logger },
    leaseMs: config.UPDATES_CHECK_LEASE_MS,
    lifetimeMs: config.UPDATES_UPLOAD_URL_SECONDS * 1000,
    ...{ onOutcome, onDiskFull },
  });
  const opener = createOpener({
    ...{ catalogue, uploads, reservations, storage, clock },
    urlSeconds: config.UPDATES_UPLOAD_URL_SECONDS,
  });
  const checkNow = createCheckNow({ uploads, check, logger, maxWaitMs: checkWaitMs });
  const sweeper = createSweeper({
    ...{ uploads, check, clock, logger },
    intervalMs: config.UPDATES_SWEEP_INTERVAL_MS,
    leaseMs: config.UPDATES_CHECK_LEASE_MS,
    lifetimeMs: config.UPDATES_UPLOAD_URL_SECONDS * 1000,
  });
  const audit = createAuditOutbox({
    ...{ log: ctx.log, clock, logger },
    metrics: ctx.metrics,
    collections: auditedCollections.map((name) => store.collection(name)),
  });
  let started = false;

  return {
    name: 'updates',
    rpc: rpcBindings({
      ...{ packages, catalogue, storage, opener, checkNow, idempotency, secrets, clock },
      ...{ audit, logger },
      applications: createClient(ApplicationsService, ctx.channel('devices')),
      devices: createClient(DevicesService, ctx.channel('devices')),
      limits: {
        vendorPrefix: config.UPDATES_VENDOR_PREFIX,
        maxBytes: config.UPDATES_MAX_BYTES,
        downloadSeconds: config.UPDATES_DOWNLOAD_URL_SECONDS,
      },
    }),
    admin: adminBindings({
      ...{ catalogue, uploads, storage, opener, checkNow, clock, audit },
      maxBytes: config.UPDATES_MAX_BYTES,
    }),
    sealed: [sealedAnswers(idempotencyDocuments)],
    async start() {
      await prepared(ctx, updatesSteps);
      await ctx.log.ensureTopics([topics.audit]);
      await files.start();
      watch.start();
      sweeper.start();
      audit.start();
      started = true;
    },
    async stop() {
      started = false;
      const swept = sweeper.stop();
      await contents.stop();
      await Promise.all([swept, watch.stop(), audit.stop()]);
      await files.stop();
    },
    // Readiness does not depend on the object storage: lists, updates and downloads work without it. The log, a warning
    // and headset_updates_storage_unavailable report an unavailable storage (storage/watch.ts).
    notReady: () => (started ? undefined : 'not started'),
    warnings: () => watch.warnings(),
  };
}

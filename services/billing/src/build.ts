import { readinessByLog } from '@headset-cloud/eventlog/readiness.ts';
import { type RunningSubscription, topics } from '@headset-cloud/eventlog/types.ts';
import type { Service, ServiceContext } from '@headset-cloud/process/service.ts';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { bind } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { createRetention } from '@headset-cloud/rules/retention/keeper.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { adminBindings } from './admin/bindings.ts';
import { auditDatabase, auditSteps, type RecordDocument, recordsCollection } from './audit/documents.ts';
import { auditGroup, createAuditKeeper } from './audit/keeper.ts';
import { auditAdmin } from './audit/list-audit-records.ts';
import { oldRecords } from './audit/retention.ts';
import { createAuditStore } from './audit/store.ts';
import type { BillingConfig } from './config.ts';
import { deviceLifecycleGroup, deviceLifecycleHandler } from './consumers/device-lifecycle.ts';
import { usageGroup, usageHandler } from './consumers/usage.ts';
import { parseZone } from './domain/month.ts';
import { getBillHandler } from './grpc/get-bill.ts';
import { makeBill } from './make-bill.ts';
import { createMetrics } from './metrics.ts';
import { createActivityStore } from './store/activity.ts';
import { createFrozenBills } from './store/bills.ts';
import {
  auditedCollections,
  type BillDocument,
  collections,
  type LifecycleDocument,
  type PlansDocument,
  type SheetDocument,
  type UsageDocument,
} from './store/documents.ts';
import { createPlansStore } from './store/plans.ts';
import { oldUsage } from './store/retention.ts';
import { billingSteps } from './store/steps.ts';
import { createUsageStore } from './store/usage.ts';

/** The billing service: plans, metered usage, monthly bills. */
export function buildBilling(ctx: ServiceContext, config: BillingConfig): Service {
  const { store, clock, log } = ctx;
  const usageDocuments = store.collection<UsageDocument>(collections.usage);
  const sheets = store.collection<SheetDocument>(collections.sheets);
  const usage = createUsageStore(usageDocuments, sheets);
  const activity = createActivityStore(store.collection<LifecycleDocument>(collections.lifecycle));
  const plans = createPlansStore(store.collection<PlansDocument>(collections.plans));
  const frozen = createFrozenBills(store.collection<BillDocument>(collections.bills));
  const sources = { usage, activity, plans, frozen, clock, zone: parseZone(config.BILLING_TIME_ZONE) };
  const metrics = createMetrics(ctx.metrics);
  const auditDatabaseStore = (ctx.database ?? (() => store))(auditDatabase);
  const auditRecords = auditDatabaseStore.collection<RecordDocument>(recordsCollection);
  const auditStore = createAuditStore(auditRecords, clock);
  const { logger } = ctx;
  const audit = createAuditOutbox({
    ...{ log, clock, logger },
    metrics: ctx.metrics,
    collections: auditedCollections.map((name) => store.collection(name)),
  });
  const keeper = createAuditKeeper({ store: auditStore, metrics: ctx.metrics, logger, clock });
  const oldUsageKind = oldUsage(
    { usage: usageDocuments, sheets },
    config.BILLING_KEEP_USAGE_DAYS * dayMs,
    async (applicationId, month) => {
      if (await frozen.get(applicationId, month)) return;
      await frozen.freeze(applicationId, month, await makeBill(sources, applicationId, month));
    },
  );
  const retention = createRetention({
    ...{ store, config, clock, logger },
    kinds: [oldUsageKind, oldRecords(auditRecords, config.BILLING_KEEP_AUDIT_DAYS * dayMs)],
    metrics: ctx.metrics,
  });
  let running: RunningSubscription[] = [];
  const logReadiness = readinessByLog('usage and audit records', () =>
    running.length === 0
      ? 'not started'
      : running.map((subscription) => subscription.notReady()).find((reason) => reason !== undefined),
  );

  return {
    name: 'billing',
    rpc: [bind(BillingService, { getBill: getBillHandler(sources, metrics) })],
    admin: [...adminBindings({ ...sources, audit }), auditAdmin(auditStore)],
    async start() {
      await prepared(ctx, billingSteps);
      if (ctx.database) await prepared({ ...ctx, store: auditDatabaseStore }, auditSteps);
      await log.ensureTopics([topics.usage, topics.deviceLifecycle, topics.audit]);
      running = [
        await log.subscribe({
          topic: topics.usage,
          group: usageGroup,
          handle: usageHandler(usage, metrics),
        }),
        await log.subscribe({
          topic: topics.deviceLifecycle,
          group: deviceLifecycleGroup,
          handle: deviceLifecycleHandler(activity),
        }),
        await log.subscribe({ topic: topics.audit, group: auditGroup, handle: keeper.handle }),
      ];
      audit.start();
      retention.start();
    },
    async stop() {
      await retention.stop();
      await Promise.all([audit.stop(), ...running.map((subscription) => subscription.close())]);
      running = [];
    },
    notReady: () => logReadiness.notReady() ?? keeper.notReady(),
    warnings: logReadiness.warnings,
  };
}

import { readinessByLog } from '@headset-cloud/eventlog/readiness.ts';
import { type RunningSubscription, topics } from '@headset-cloud/eventlog/types.ts';
import type { SealingContext, Service } from '@headset-cloud/process/service.ts';
import { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { createAuditOutbox } from '@headset-cloud/rules/audit/outbox.ts';
import { deadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import {
  createForgetMarks,
  type ForgetMarkDocument,
  forgetMarksCollection,
} from '@headset-cloud/rules/forget/marks.ts';
import {
  createIdempotency,
  type IdempotencyDocument,
  sealedAnswers,
} from '@headset-cloud/rules/idempotency.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { createRetention } from '@headset-cloud/rules/retention/keeper.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { prepared } from '@headset-cloud/store/schema/prepared.ts';
import { transactionsAdmin } from './admin/admin.ts';
import { createUndoActivation } from './cancel/activations.ts';
import { createCanceler } from './cancel/canceler.ts';
import type { TransactionsConfig } from './config.ts';
import { createReportConsumer } from './consumers/transaction-reports.ts';
import { createDispatcher, type Dispatcher } from './dispatch/dispatcher.ts';
import { rpcBindings } from './grpc/bindings.ts';
import { registerMetrics } from './metrics.ts';
import { createOutbox } from './outbox.ts';
import { collections, type TransactionDocument } from './store/documents.ts';
import { createForgetStore } from './store/forget.ts';
import { createOpenLimit } from './store/open-limit.ts';
import { endedTransactions } from './store/retention.ts';
import { transactionsSteps } from './store/steps.ts';
import { createTransactionStore } from './store/store.ts';
import { sealedTickets } from './store/tickets.ts';
import { createSweeper } from './sweeper.ts';

const group = 'transactions';

/** Assembles the transactions service: state, retries, cancellation and lists of asynchronous operations. */
export function buildTransactions(ctx: SealingContext, config: TransactionsConfig): Service {
  const { clock, logger, log } = ctx;
  const store = createTransactionStore(ctx.store, {
    idBlock: config.TRANSACTIONS_ID_BLOCK,
    leftoverAfterMs: config.TRANSACTIONS_LEFTOVER_AFTER_MS,
    progressIntervalMs: config.TRANSACTIONS_PROGRESS_INTERVAL_MS,
  });
  const link = createClient(DeliveryService, ctx.channel('device-link'), { deadlineMs: 3000 });
  const devices = createClient(DevicesService, ctx.channel('devices'), { deadlineMs: 3000 });
  const undoActivation = createUndoActivation({ devices, logger });
  const outbox = createOutbox({ store, log, logger, undoActivation });
  const canceler = createCanceler({
    store,
    outbox,
    clock,
    withdraw: (canceled, reason) => dispatcher.withdraw(canceled, reason),
  });
  const dispatcher: Dispatcher = createDispatcher({ store, link, canceler, clock, logger });
  const answers = ctx.store.collection<IdempotencyDocument>(collections.idempotency);
  const idempotency = createIdempotency({ collection: answers, secrets: ctx.secrets, clock });
  const sweeper = createSweeper({
    store,
    outbox,
    dispatcher,
    canceler,
    clock,
    logger,
    intervalMs: config.TRANSACTIONS_SWEEP_MS,
    claimMs: config.TRANSACTIONS_LEFTOVER_AFTER_MS * 2,
    progressIntervalMs: config.TRANSACTIONS_PROGRESS_INTERVAL_MS,
  });
  const reachable = async (deviceId: string): Promise<boolean> =>
    (await link.getPresence({ deviceIds: [deviceId] })).sessionEpochs[deviceId] !== undefined;
  // Rejects cancel requests for a device that the application has deactivated: otherwise it could cancel the
  // deactivation before the headset gets it. Called once per request, before anything of the request is stored.
  const requireActivated = async (applicationId: string, deviceId: string): Promise<void> => {
    const { activated } = await devices.getActivation({ applicationId, deviceId });
    if (!activated) throw new DomainError('device_not_activated', 'The device is not activated.');
  };
  registerMetrics(ctx.metrics, store, clock);
  const ended = endedTransactions(ctx.store, config.TRANSACTIONS_KEEP_DAYS * dayMs);
  const retention = createRetention({
    ...{ store: ctx.store, kinds: [ended], config, clock, logger },
    metrics: ctx.metrics,
  });
  const audit = createAuditOutbox({
    ...{ log, clock, logger, metrics: ctx.metrics },
    collections: [ctx.store.collection<ForgetMarkDocument>(forgetMarksCollection)],
  });
  let reports: RunningSubscription | undefined;

  return {
    name: 'transactions',
    rpc: rpcBindings({
      store,
      limits: {
        ofDevice: createOpenLimit(store.countOpenOfDevice),
        ofApplication: createOpenLimit(store.countOpenOfApplication),
      },
      outbox,
      canceler,
      undoActivation,
      dispatcher,
      idempotency,
      clock,
      completeFromMs: () => retention.completeFromMs(ended.kind),
      reachable,
      requireActivated,
      retryLimit: config.TRANSACTIONS_RETRY_LIMIT,
      retryIntervalMs: config.TRANSACTIONS_RETRY_INTERVAL_MS,
    }),
    admin: [
      transactionsAdmin(store, {
        forgetting: createForgetStore(ctx.store),
        deadLetters: deadLettersOfDevice(ctx.store, clock, { group, topic: topics.transactionReports }),
        marks: createForgetMarks(ctx.store, clock),
        canceler,
        audit,
      }),
    ],
    sealed: [
      sealedTickets(ctx.store.collection<TransactionDocument>(collections.transactions)),
      sealedAnswers(answers),
    ],
    ...readinessByLog('results of transactions', () => (reports ? reports.notReady() : 'not started')),
    async start() {
      await prepared(ctx, transactionsSteps);
      await log.ensureTopics([topics.transactionReports, topics.notifications, topics.audit]);
      reports = await log.subscribe({
        topic: topics.transactionReports,
        group,
        handle: createReportConsumer({ store, outbox, dispatcher, clock }),
      });
      await sweeper.start();
      audit.start();
      retention.start();
    },
    async stop() {
      await Promise.all([sweeper.stop(), audit.stop(), retention.stop()]);
      await reports?.close();
      await dispatcher.drain();
      await outbox.drain();
    },
  };
}

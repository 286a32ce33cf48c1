import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Service } from '@headset-cloud/process/service.ts';
import { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type {
  HeldState,
  OperationSchema,
  ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import {
  DeliveryJudgeService,
  type FloorReason,
  TransactionStatus,
  TransactionsService,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { bindSome } from '@headset-cloud/rpc/testing/bind-some.ts';
import { bind, type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import { buildTransactions } from '../build.ts';
import { transactionsConfig } from '../config.ts';
import { collections, type TransactionDocument } from '../store/documents.ts';

/** Longer than any call on a slow machine, so that only the test's own limit ends a hanging call. */
const patient = { deadlineMs: 60_000 };

export const device = '350000000000001';
export const application = 'app';
export const command = 'put-v1-applications-devices-commands';

/** The service on the embedded stores. The test simulates device-link and devices. */
export class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'transactions-test-'));
  readonly channel = new LocalChannel();
  /** Session epochs of headsets that are online. */
  readonly online = new Map<string, bigint>();
  /** Ids of the transactions that were dispatched to device-link. */
  readonly dispatched: number[] = [];
  /** Previous operation of each entry of `dispatched`. */
  readonly previous: number[] = [];
  /** While true, device-link is unavailable. */
  linkUnavailable = false;
  /** Difference of the service's clock to the real clock; milliseconds. */
  aheadMs = 0;
  /** Fixed time of the service's clock, milliseconds since 1970; undefined: the clock runs. */
  stoppedAtMs: number | undefined;
  /** Number of dispatches that failed because device-link was unavailable. */
  failedDispatches = 0;
  activated = true;
  devicesUnavailable = false;
  /** Activations that devices undid: transaction id, and its number of callbacks at that time. */
  readonly undone: [number, number][] = [];
  /** Withdrawals that device-link got: transaction id and reason. */
  readonly withdrawn: [number, string][] = [];
  /** Session epochs for which a repeated reconciliation was requested from device-link. */
  readonly reconciledAgain: bigint[] = [];
  /** Runs once, before the next `updateMany`: a cancellation or a lost mark. */
  beforeCancel: (() => Promise<unknown>) | undefined;
  /** Delays the sweeper between the claim of a transaction and its processing. */
  afterClaim = async (): Promise<void> => {};
  /** Delays presence requests. */
  beforePresence = async (): Promise<void> => {};
  bed!: TestBed;
  service!: Service;
  tx!: Client<typeof TransactionsService>;
  sessions!: Client<typeof DeliveryJudgeService>;
  admin!: Client<typeof TransactionsAdminService>;
  readonly callbacks: {
    id: string;
    sequence: number;
    createdAtMs: number;
    replaceable: boolean;
    body: Record<string, unknown>;
  }[] = [];
  /** While true, notifications cannot be published. */
  logUnavailable = false;

  async start(config: Record<string, string> = {}): Promise<void> {
    this.bed = openTestBed('transactions', { directory: this.directory });
    this.channel.register([
      bind(DeliveryService, {
        deliver: async (r) => {
          if (this.linkUnavailable) {
            this.failedDispatches += r.handOvers.length;
            throw new DomainError('unavailable', 'unavailable');
          }
          for (const { offer, previousTransactionId } of r.handOvers) {
            this.dispatched.push(Number(offer?.transactionId));
            this.previous.push(Number(previousTransactionId));
          }
          return {
            outcomes: r.handOvers.map(({ deviceId }) => ({
              kind: { case: 'sessionEpoch' as const, value: this.online.get(deviceId) ?? 0n },
            })),
          };
        },
        withdraw: async ({ transactionIds, reason }) => {
          for (const id of transactionIds) this.withdrawn.push([Number(id), reason]);
          return {};
        },
        judgeAgain: async ({ sessionEpoch }) => {
          if (this.linkUnavailable) throw new DomainError('unavailable', 'unavailable');
          this.reconciledAgain.push(sessionEpoch);
          return {};
        },
        getPresence: async () => {
          await this.beforePresence();
          return { sessionEpochs: Object.fromEntries(this.online) };
        },
        closeSession: async () => ({}),
      }),
    ]);
    this.channel.register([
      bindSome(DevicesService, {
        getActivation: async ({ deviceId }) => ({ deviceId, activated: this.activated }),
        undoActivation: async ({ transactionId }) => {
          if (this.devicesUnavailable) throw new DomainError('unavailable', 'unavailable');
          this.undone.push([Number(transactionId), this.of(Number(transactionId)).length]);
          return {};
        },
      }),
    ]);
    this.service = buildTransactions(
      this.bed.context({
        clock: { ...systemClock, now: () => this.stoppedAtMs ?? Date.now() + this.aheadMs },
        store: this.#interruptible(this.bed.store),
        log: this.#faultyLog(),
        channel: () => this.channel,
      }),
      readConfig(transactionsConfig, {
        TRANSACTIONS_SWEEP_MS: '50',
        TRANSACTIONS_LEFTOVER_AFTER_MS: '100',
        TRANSACTIONS_RETRY_LIMIT: '3',
        TRANSACTIONS_RETRY_INTERVAL_MS: '0',
        TRANSACTIONS_PROGRESS_INTERVAL_MS: '0',
        ...config,
      }),
    );
    this.channel.register([...this.service.rpc, ...this.service.admin]);
    this.admin = createClient(TransactionsAdminService, this.channel, patient);
    this.tx = createClient(TransactionsService, this.channel, patient);
    this.sessions = createClient(DeliveryJudgeService, this.channel, patient);
    await this.service.start();
    await this.bed.log.subscribe({
      topic: topics.notifications,
      group: 'test',
      handle: async (events) => {
        for (const e of events) {
          const n = fromBinary(NotificationEventSchema, e.value);
          // A consumer ignores repeated events (rule B9).
          if (this.callbacks.some((c) => c.id === n.notificationId)) continue;
          this.callbacks.push({
            id: n.notificationId,
            sequence: n.sequence,
            createdAtMs: Number(n.createdAtMs),
            replaceable: n.replaceable,
            body: JSON.parse(Buffer.from(n.body).toString()),
          });
        }
      },
    });
  }

  /** Waits until the service has handled all reports. */
  async handled(): Promise<void> {
    await waitFor(
      'the reports',
      async () => (await this.bed.log.lag('transactions', topics.transactionReports)) === 0,
    );
  }

  /** Returns the stored document as text, to search for secrets. */
  async stored(id: number): Promise<string> {
    const { operation, ...rest } = (await this.#documents.findOne({ _id: id })) as TransactionDocument;
    return JSON.stringify(rest) + Buffer.from(operation?.buffer ?? []).toString('latin1');
  }

  /** Makes a stored operation undecodable. */
  async corruptOperation(id: number): Promise<void> {
    await this.#documents.updateOne({ _id: id }, { $set: { operation: new Binary(Uint8Array.of(0xff)) } });
  }

  /** Removes the stored operation, so that every read of it fails. */
  async removeOperation(id: number): Promise<void> {
    await this.#documents.updateOne({ _id: id }, { $unset: { operation: true } });
  }

  /** Ids of the transactions that the sweeper has to process, now or later. */
  async dueIds(): Promise<number[]> {
    const due = await this.#documents.find({ dueAt: { $exists: true } }).toArray();
    return due.map((one) => one._id);
  }

  /** Makes a transaction due, so that the sweeper processes it. */
  async makeDue(id: number): Promise<void> {
    await this.#documents.updateOne({ _id: id }, { $set: { dueAt: new Date(0) } });
  }

  get #documents() {
    return this.bed.store.collection<TransactionDocument>(collections.transactions);
  }

  async stop(): Promise<void> {
    this.bed.disk.release();
    await this.service.stop();
    await this.bed.close();
  }

  create(
    over: {
      transactionId?: bigint;
      operationId?: string;
      activationEpoch?: bigint;
      raisesFloor?: FloorReason;
      subject?: string;
      minimumClientVersion?: string;
      minimumFirmwareVersion?: string;
      deviceId?: string;
      applicationId?: string;
      deviceUnprocessedLimit?: number;
      applicationUnprocessedLimit?: number;
      operation?: MessageInitShape<typeof OperationSchema>;
    } = {},
    options: { readonly deadlineMs?: number } = {},
  ): Promise<number> {
    return this.tx
      .createTransaction(
        {
          deviceId: device,
          applicationId: application,
          operationId: command,
          activationEpoch: 1n,
          operation: { kind: { case: 'command', value: { package: 'p' } } },
          ...over,
        },
        options,
      )
      .then((r) => Number(r.transactionId));
  }

  async status(id: number): Promise<string> {
    const { transaction } = await this.tx.getTransaction({
      applicationId: application,
      transactionId: BigInt(id),
    });
    return Object.entries(TransactionStatus).find(([, n]) => n === transaction?.status)?.[0] ?? '';
  }

  report(
    body: MessageInitShape<typeof ReportSchema>['body'],
    reportId = 1n,
    more: { occurredAtMs?: bigint; receivedAtMs?: bigint; activationEpoch?: bigint } = {},
  ): Promise<void> {
    const { occurredAtMs = 0n, receivedAtMs = 0n, activationEpoch = 0n } = more;
    return this.event({
      receivedAtMs,
      body: { case: 'report', value: { reportId, occurredAtMs, activationEpoch, body } },
    });
  }

  /** Publishes the hello of a session to the log. */
  hello(
    sessionEpoch: bigint,
    held: { transactionId: bigint; state: HeldState }[] = [],
    knowsRevoke = true,
  ): Promise<void> {
    return this.event({ sessionEpoch, body: { case: 'hello', value: { held, knowsRevoke } } });
  }

  /** Publishes the hello of a session, and waits until it is consumed after all earlier reports. */
  async helloConsumed(sessionEpoch: bigint, knowsRevoke = true): Promise<void> {
    await this.hello(sessionEpoch, [], knowsRevoke);
    await this.handled();
  }

  event(event: MessageInitShape<typeof DeviceReportEventSchema>): Promise<void> {
    const value = create(DeviceReportEventSchema, { deviceId: device, ...event });
    return this.bed.log.publish(topics.transactionReports, [
      { key: device, value: toBinary(DeviceReportEventSchema, value) },
    ]);
  }

  /** Reconciles a session of the headset; returns the messages to send. */
  async reconcileOnline(
    sessionEpoch: bigint,
    session: {
      held?: { transactionId: bigint; state: HeldState }[];
      knowsRevoke?: boolean;
      afterUnresponsive?: boolean;
      again?: boolean;
    } = {},
  ) {
    const answer = await this.sessions.headsetOnline({
      deviceId: device,
      sessionEpoch,
      knowsRevoke: true,
      ...session,
    });
    return {
      offers: answer.offers.map((o) => [Number(o.transactionId), o.attempt]),
      starts: answer.startTransactionIds.map(Number),
      revocations: answer.revocations.map((r) => [Number(r.transactionId), r.reason]),
      drops: answer.dropTransactionIds.map(Number),
    };
  }

  /** Reconciles a session; returns the device's highest transaction id. */
  async reconciledThrough(sessionEpoch: bigint): Promise<number> {
    return Number((await this.sessions.headsetOnline({ deviceId: device, sessionEpoch })).judgedThroughId);
  }

  /** Requests the start grant in a session. */
  accept(id: number, sessionEpoch = 1n, clientVersion = '3.4.0', firmwareVersion = '9.001.0') {
    const versions = { clientVersion, firmwareVersion };
    return this.sessions.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch, ...versions });
  }

  progress(id: number, progress: number, reportId: bigint, message = 'loading'): Promise<void> {
    return this.report(
      { case: 'progress', value: { transactionId: BigInt(id), progress, message } },
      reportId,
    );
  }

  result(id: number, success = true, message = 'called'): Promise<void> {
    return this.report({ case: 'result', value: { transactionId: BigInt(id), success, message } });
  }

  #interruptible(store: Store): Store {
    const interrupted = <T extends object>(collection: T): T =>
      new Proxy(collection, {
        get: (of, name) => {
          const value = Reflect.get(of, name) as unknown;
          if (typeof value !== 'function') return value;
          if (name === 'findOneAndUpdate') {
            return async (filter: unknown, update: { $set?: object }, options: unknown) => {
              const found = (await value.call(of, filter, update, options)) as unknown;
              if (found && Object.keys(update.$set ?? {}).join() === 'dueAt') await this.afterClaim();
              return found;
            };
          }
          if (name !== 'updateMany') return value.bind(of);
          return async (...args: unknown[]) => {
            const before = this.beforeCancel;
            this.beforeCancel = undefined;
            await before?.();
            return value.apply(of, args) as unknown;
          };
        },
      });
    return new Proxy(store, {
      get: (of, name) => {
        const value = Reflect.get(of, name) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'collection') return value.bind(of);
        return (...args: unknown[]) => interrupted(value.apply(of, args) as object);
      },
    });
  }

  #faultyLog(): EventLog {
    const publish: EventLog['publish'] = async (topic, events, options) => {
      if (this.logUnavailable && topic === topics.notifications)
        throw new DomainError('unavailable', 'unavailable');
      await this.bed.log.publish(topic, events, options);
    };
    return new Proxy(this.bed.log, {
      get: (log, name) => {
        if (name === 'publish') return publish;
        const value = Reflect.get(log, name) as unknown;
        return typeof value === 'function' ? value.bind(log) : value;
      },
    });
  }

  of(id: number): Record<string, unknown>[] {
    return this.callbacks.filter((c) => c.body['transactionId'] === id).map((c) => c.body);
  }
}

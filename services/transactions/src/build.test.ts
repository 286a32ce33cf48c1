import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { readConfig } from '@headset-cloud/kit/config.ts';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/kit/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/kit/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/kit/embedded/store.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { type EventLog, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { noFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { LocalChannel } from '@headset-cloud/kit/rpc/local.ts';
import { bind, type Client, createClient } from '@headset-cloud/kit/rpc/types.ts';
import { createSecretBox } from '@headset-cloud/kit/secrets.ts';
import type { Service } from '@headset-cloud/kit/service.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { DeliveryService } from '@headset-cloud/proto/headset/device_link/v1/delivery_pb.ts';
import { HeldState, type ReportSchema } from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/headset/device_link/v1/events_pb.ts';
import { DevicesService } from '@headset-cloud/proto/headset/devices/v1/service_pb.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/headset/notifier/v1/events_pb.ts';
import {
  DeliveryJudgeService,
  FloorReason,
  TransactionStatus,
  TransactionsService,
} from '@headset-cloud/proto/headset/transactions/v1/service_pb.ts';
import { Registry } from 'prom-client';
import { buildTransactions } from './build.ts';
import { transactionsConfig } from './config.ts';

const device = '350000000000001';
const application = 'app';
const command = 'put-v1-applications-devices-commands';

/** The service on the embedded stores; device-link is played by the test. */
class Harness {
  readonly directory = mkdtempSync(join(tmpdir(), 'transactions-test-'));
  readonly logger = createLogger({ level: 'silent' });
  readonly channel = new LocalChannel();
  /** Session epochs of headsets that are online. */
  readonly online = new Map<string, bigint>();
  /** What device-link was handed, by transaction id. */
  readonly delivered: number[] = [];
  linkAway = false;
  activated = true;
  /** Holds up questions for presence. */
  beforePresence = async (): Promise<void> => {};
  database!: EmbeddedDatabase;
  log!: EventLog;
  service!: Service;
  tx!: Client<typeof TransactionsService>;
  judge!: Client<typeof DeliveryJudgeService>;
  readonly callbacks: { id: string; body: Record<string, unknown> }[] = [];
  #stores: { close(): Promise<void> } | undefined;

  async start(): Promise<void> {
    this.database = openEmbeddedDatabase({ directory: this.directory });
    const stores = createEmbeddedStore(this.database);
    this.#stores = stores;
    this.log = createEmbeddedLog(this.database, this.logger);
    this.channel.register([
      bind(DeliveryService, {
        deliver: async (r) => {
          if (this.linkAway) throw new DomainError('unavailable', 'away');
          for (const o of r.offers) this.delivered.push(Number(o.transactionId));
          return { sessionEpoch: this.online.get(r.deviceId) ?? 0n };
        },
        withdraw: async () => ({}),
        getPresence: async () => {
          await this.beforePresence();
          return { sessionEpochs: Object.fromEntries(this.online) };
        },
        closeSession: async () => ({}),
      }),
    ]);
    const unused = () => Promise.reject(new DomainError('internal', 'not used here'));
    this.channel.register([
      bind(DevicesService, {
        getActivation: async ({ deviceId }) => ({ deviceId, activated: this.activated }),
        activateDevice: unused,
        deactivateDevice: unused,
        sendOperation: unused,
        resetDevice: unused,
        getHardwareProperties: unused,
        getAssociation: unused,
        getDeviceStatus: unused,
        listDeviceStatuses: unused,
      }),
    ]);
    this.service = buildTransactions(
      {
        logger: this.logger,
        clock: systemClock,
        store: stores.database('transactions'),
        log: this.log,
        channel: () => this.channel,
        secrets: createSecretBox('x'.repeat(32)),
        metrics: new Registry(),
        failpoints: noFailpoints,
        instanceId: 'test',
      },
      readConfig(transactionsConfig, {
        TRANSACTIONS_SWEEP_MS: '50',
        TRANSACTIONS_LEFTOVER_AFTER_MS: '100',
        TRANSACTIONS_RETRY_LIMIT: '3',
      }),
    );
    this.channel.register(this.service.rpc);
    this.tx = createClient(TransactionsService, this.channel);
    this.judge = createClient(DeliveryJudgeService, this.channel);
    await this.service.start();
    await this.log.subscribe({
      topic: topics.notifications,
      group: 'test',
      handle: async (events) => {
        for (const e of events) {
          const n = fromBinary(NotificationEventSchema, e.value);
          // A consumer drops what it has seen (ruling B9).
          if (this.callbacks.some((c) => c.id === n.notificationId)) continue;
          this.callbacks.push({ id: n.notificationId, body: JSON.parse(Buffer.from(n.body).toString()) });
        }
      },
    });
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.log.close();
    await this.#stores?.close();
    await this.database.close();
  }

  create(
    over: {
      transactionId?: bigint;
      operationId?: string;
      activationEpoch?: bigint;
      raisesFloor?: FloorReason;
    } = {},
  ): Promise<number> {
    return this.tx
      .createTransaction({
        deviceId: device,
        applicationId: application,
        operationId: command,
        activationEpoch: 1n,
        operation: { kind: { case: 'command', value: { package: 'p' } } },
        ...over,
      })
      .then((r) => Number(r.transactionId));
  }

  async status(id: number): Promise<string> {
    const { transaction } = await this.tx.getTransaction({
      applicationId: application,
      transactionId: BigInt(id),
    });
    return Object.entries(TransactionStatus).find(([, n]) => n === transaction?.status)?.[0] ?? '';
  }

  report(body: MessageInitShape<typeof ReportSchema>['body'], reportId = 1n): Promise<void> {
    return this.log.publish(topics.deviceReports, [
      {
        key: device,
        value: toBinary(
          DeviceReportEventSchema,
          create(DeviceReportEventSchema, {
            deviceId: device,
            body: { case: 'report', value: { reportId, body } },
          }),
        ),
      },
    ]);
  }

  result(id: number, success = true, message = 'called'): Promise<void> {
    return this.report({ case: 'result', value: { transactionId: BigInt(id), success, message } });
  }

  of(id: number): Record<string, unknown>[] {
    return this.callbacks.filter((c) => c.body['transactionId'] === id).map((c) => c.body);
  }
}

describe('transactions', () => {
  let h: Harness;
  beforeEach(async () => {
    h = new Harness();
    await h.start();
  });
  afterEach(async () => {
    await h.stop();
    rmSync(h.directory, { recursive: true, force: true });
  });

  const code = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (e: DomainError) => e.code,
    );

  it('takes a command from created to processed with its two callbacks in order', async () => {
    h.online.set(device, 5n);
    const id = await h.create();
    await waitFor('delivery', () => h.delivered.includes(id));
    expect(
      await h.judge.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 5n }),
    ).toMatchObject({ start: true });
    expect(await h.status(id)).toBe('ACCEPTED');
    await h.result(id);
    await waitFor('two callbacks', () => h.of(id).length === 2);
    expect(h.of(id).map((b) => [b['notificationType'], b['result']])).toEqual([
      ['accepted', 'success'],
      ['processed', 'success'],
    ]);
    expect(await h.status(id)).toBe('PROCESSED');
  });

  it('is idempotent by id: created again, it is there once and answers the same', async () => {
    const { transactionId } = await h.tx.drawTransactionId({ deviceId: device });
    const id = await h.create({ transactionId });
    expect(await h.create({ transactionId })).toBe(id);
    const { transactions } = await h.tx.listTransactions({
      applicationId: application,
      perPage: 10,
      page: 1,
    });
    expect(transactions.map((t) => Number(t.transactionId))).toEqual([id]);
  });

  it('gives rising ids to a device', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => h.create()));
    expect(new Set(ids).size).toBe(30);
    expect(await h.create()).toBeGreaterThan(Math.max(...ids));
  });

  it('starts a transaction whose permit is asked twice, and none that was canceled', async () => {
    const id = await h.create();
    const ask = { deviceId: device, transactionId: BigInt(id), sessionEpoch: 1n };
    expect((await h.judge.accept(ask)).start).toBe(true);
    expect((await h.judge.accept(ask)).start).toBe(true);
    const other = await h.create();
    const { canceledTransactionIds } = await h.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
    expect(canceledTransactionIds.map(Number)).toEqual([other]);
    expect(await h.judge.accept({ ...ask, transactionId: BigInt(other) })).toMatchObject({ start: false });
    expect(await h.judge.accept({ ...ask, transactionId: 999n })).toMatchObject({ start: false });
    expect(await h.judge.accept({ ...ask, deviceId: '350000000000002' })).toMatchObject({ start: false });
  });

  it('either cancels or starts, never both, however they interleave', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await h.create();
      const [permit, canceled] = await Promise.all([
        h.judge.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 1n }),
        h.tx.cancelTransactions({ caller: { clientId: 'c', applicationId: application }, deviceId: device }),
      ]);
      expect(permit.start).toBe(!canceled.canceledTransactionIds.includes(BigInt(id)));
    }
  });

  it('names exactly what it canceled, also when two runs of one Idempotency-Key overlap', async () => {
    const first = await h.create();
    const idempotency = { key: 'k', method: 'DELETE', path: '/x', bodySha256: new Uint8Array(32) };
    const cancel = () =>
      h.tx.cancelTransactions({
        caller: { clientId: 'c', applicationId: application, idempotency },
        deviceId: device,
      });
    const slow = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    h.beforePresence = () => {
      asked.resolve();
      return slow.promise;
    };
    const late = cancel();
    await asked.promise;
    h.beforePresence = async () => {};
    expect((await cancel()).canceledTransactionIds.map(Number)).toEqual([first]);
    const second = await h.create();
    slow.resolve();
    expect((await late).canceledTransactionIds.map(Number)).toEqual([first]);
    expect(await h.status(second)).not.toBe('CANCELED');
  });

  it('cancels nothing of a device that the application no longer has activated', async () => {
    const id = await h.create();
    h.activated = false;
    const caller = { clientId: 'c', applicationId: application };
    expect(await code(h.tx.cancelTransactions({ caller, deviceId: device }))).toBe('device_not_activated');
    expect(await h.status(id)).not.toBe('CANCELED');
  });

  it('applies a result once, and records one that comes after the end', async () => {
    const id = await h.create();
    await h.tx.cancelTransactions({
      caller: { clientId: 'c', applicationId: application },
      deviceId: device,
    });
    await h.result(id);
    const next = await h.create();
    await h.result(next);
    await h.result(next);
    await h.result(next, false, 'other');
    await waitFor('the end', () => h.of(next).length === 1);
    expect(await h.status(id)).toBe('CANCELED');
    expect(h.of(id).map((b) => b['result'])).toEqual(['failure']);
    expect(h.of(next).map((b) => b['result'])).toEqual(['success']);
  });

  it('lets an app’s answer that comes first end the transaction, with the general form before it', async () => {
    const id = await h.create();
    const answer = { transactionId: BigInt(id), success: true, message: 'mine', customData: 'd' };
    await h.report({ case: 'appAnswer', value: answer });
    await h.report({ case: 'appAnswer', value: answer }, 2n);
    await h.result(id);
    await waitFor('both forms', () => h.of(id).length === 2);
    expect(h.of(id)[0]).toMatchObject({ notificationType: 'processed', result: 'success', message: 'mine' });
    expect(h.of(id)[1]).toMatchObject({
      success: true,
      process: 'processed',
      message: 'mine',
      customData: 'd',
    });
    expect(await h.status(id)).toBe('PROCESSED');
  });

  it('cancels what is below the floor of a deactivation, and refuses creates of the ended activation', async () => {
    const early = await h.create();
    const accepted = await h.create();
    await h.judge.accept({ deviceId: device, transactionId: BigInt(accepted), sessionEpoch: 1n });
    const floor = await h.create({
      operationId: 'delete-v1-applications-devices',
      activationEpoch: 2n,
      raisesFloor: FloorReason.DEACTIVATION,
    });
    expect([await h.status(early), await h.status(accepted)]).toEqual(['CANCELED', 'CANCELED']);
    expect(await code(h.create())).toBe('device_not_activated');
    const next = await h.create({ activationEpoch: 3n });
    expect(
      (await h.judge.accept({ deviceId: device, transactionId: BigInt(floor), sessionEpoch: 1n })).start,
    ).toBe(true);
    expect(
      (await h.judge.accept({ deviceId: device, transactionId: BigInt(next), sessionEpoch: 1n })).start,
    ).toBe(true);
    await waitFor('the message', () => h.of(early).length === 1);
    expect(h.of(early)[0]?.['message']).toBe(
      'The transaction was canceled because it occurred before deactivation.',
    );
  });

  it('hands over what could not be handed over before, and what waited when the headset comes online', async () => {
    h.linkAway = true;
    const id = await h.create();
    expect(await h.status(id)).toBe('CREATED');
    h.linkAway = false;
    await waitFor('the sweeper to hand it over', () => h.delivered.includes(id));
    await waitFor('the mark', async () => (await h.status(id)) === 'PUBLISHED');
    const online = await h.judge.headsetOnline({ deviceId: device, sessionEpoch: 7n, held: [] });
    expect(online.offers.map((o) => Number(o.transactionId))).toEqual([id]);
    expect(online.offers[0]).toMatchObject({ attempt: 0, operationId: command });
  });

  it('counts a retry for a transaction that a session accepted and its headset then lost', async () => {
    const id = await h.create();
    await h.judge.accept({ deviceId: device, transactionId: BigInt(id), sessionEpoch: 5n });
    const held = [{ transactionId: BigInt(id), state: HeldState.STARTED }];
    const keeps = await h.judge.headsetOnline({ deviceId: device, sessionEpoch: 6n, held });
    expect(keeps.offers.map((o) => o.attempt)).toEqual([0]);
    const lost = await h.judge.headsetOnline({ deviceId: device, sessionEpoch: 7n, held: [] });
    expect(lost.offers.map((o) => o.attempt)).toEqual([1]);
  });

  it('cancels at the retry limit, and drops what a headset holds in vain', async () => {
    const id = await h.create();
    for (let epoch = 1n; epoch <= 3n; epoch++) {
      const { offers } = await h.judge.headsetOnline({ deviceId: device, sessionEpoch: epoch, held: [] });
      expect(offers.map((o) => Number(o.transactionId))).toEqual([id]);
      // Told twice in a session, it counts once.
      await h.judge.headsetOnline({ deviceId: device, sessionEpoch: epoch, held: [] });
    }
    const last = await h.judge.headsetOnline({
      deviceId: device,
      sessionEpoch: 4n,
      held: [{ transactionId: 999n, state: HeldState.OFFERED }],
    });
    expect(last.offers).toEqual([]);
    expect(last.dropTransactionIds.map(Number)).toEqual([999]);
    await waitFor('the end', () => h.of(id).length === 1);
    expect(h.of(id)[0]?.['message']).toBe(
      'The transaction was canceled because the retry limit was exceeded.',
    );
  });

  it('keeps one callback for each kind over a restart, and publishes what a crash left', async () => {
    const id = await h.create();
    await h.result(id);
    await waitFor('the callback', () => h.of(id).length === 1);
    await h.stop();
    await h.start();
    const next = await h.create();
    await h.result(next);
    await waitFor('the next callback', () => h.of(next).length === 1);
    expect(h.of(id)).toHaveLength(1);
  });
});

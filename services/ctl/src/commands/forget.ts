import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type DescService, type MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { ForgottenSchema } from '@headset-cloud/proto/common/v1/forget_pb.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import {
  DevicesAdminService,
  type ForgetReport,
  ForgetReportSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { AdminService } from '../connection.ts';
import { CtlError, exitCodes } from '../exit-codes.ts';
import { table } from '../output.ts';
import type { Session } from '../session.ts';

/** Callbacks that one call names: each is looked for by itself. */
const callbacksAtOnce = 500;
/** A pause lasts so many times as long as the call before it, so that other work goes first. */
const pausePerWork = 4;
/** How often, and how long after each other, callbacks are waited for that are just being published. */
const looks = 5;
const betweenLooksMs = 1000;

/** Of many transactions it takes minutes: a line of progress so often. */
const tellEveryMs = 10_000;

type Counts = MessageInitShape<typeof ForgottenSchema>;

/** `devices forget` (ADR 0047). */
export function addForget(group: Command, session: Session): void {
  group
    .command('forget <imei>')
    .description(
      'remove what is personal of a device that is not activated; may be interrupted and run again',
    )
    .requiredOption('--reference <id>', 'the id of the request that this fulfils, for the audit record')
    .option('--end-open', 'cancel its unprocessed transactions first, with their callbacks', false)
    .option('--dry-run', 'only count what would be removed', false)
    .action(async (deviceId: string, options: Omit<Asked, 'deviceId' | 'run'>) => {
      const asked = { ...options, deviceId, run: randomUUID() };
      const counted = await forget(session, { ...asked, dryRun: true });
      const failed = counted.failures.find(
        ({ service }) => service === 'devices' || service === 'transactions',
      );
      // Whether it may begin at all, only these two know.
      if (failed) throw failed.error;
      if (counted.open > 0 && !options.endOpen) throw hasOpen(deviceId, counted.open);
      if (options.dryRun) return show(session, asked, counted);
      const done = await forget(session, asked);
      show(session, asked, done);
      refuseLeft(deviceId, done);
    });
}

interface Asked {
  readonly deviceId: string;
  readonly reference: string;
  readonly run: string;
  readonly dryRun: boolean;
  readonly endOpen: boolean;
}

interface Failure {
  readonly service: AdminService;
  readonly error: CtlError;
}

interface Outcome {
  readonly counts: ReadonlyMap<AdminService, readonly Tally[]>;
  readonly failures: readonly Failure[];
  /** Transactions that are not processed. */
  readonly open: number;
}

interface Tally {
  readonly what: string;
  removed: number;
  left: number;
}

/**
 * Service by service: devices first, since nothing new comes of a device without keys; then the transactions and
 * Sora's connections, each page after its callbacks, whose ids nothing else tells.
 */
async function forget(session: Session, asked: Asked): Promise<Outcome> {
  const { deviceId, reference, dryRun, run, endOpen } = asked;
  const request = { deviceId, reference, dryRun, run };
  const counts = new Map<AdminService, Tally[]>();
  const failures: Failure[] = [];
  let open = 0;

  const add = (service: AdminService, told: readonly Counts[]) => {
    const of = counts.get(service) ?? [];
    counts.set(service, of);
    for (const { what = '', removed = 0, left = 0 } of told) {
      const known = of.find((one) => one.what === what);
      if (known) {
        known.removed += removed;
        known.left += left;
      } else of.push({ what, removed, left });
    }
  };
  let asking: AdminService = 'devices';
  let toldAtMs = performance.now();
  /** One call, and a pause that grows with its work. */
  const ask = async <S extends DescService, A extends { readonly forgotten: readonly Counts[] }>(
    service: AdminService,
    description: S,
    call: (client: Client<S>) => Promise<A>,
  ): Promise<A> => {
    asking = service;
    const began = performance.now();
    const answer = await session.call(service, description, call);
    add(service, answer.forgotten);
    if (began - toldAtMs > tellEveryMs) {
      toldAtMs = began;
      const done = [...counts.values()].flat().reduce((sum, { removed }) => sum + removed, 0);
      session.terminal.err(`${service}: ${done} ${dryRun ? 'counted' : 'removed'} so far …\n`);
    }
    if (!dryRun) await sleep(pausePerWork * (performance.now() - began));
    return answer;
  };
  /** A service that is away leaves its part; the others do theirs. */
  const part = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CtlError)) throw error;
      failures.push({ service: asking, error });
      add(asking, []);
    }
  };

  /** Removes the callbacks; answers which transactions and notifications still have some. */
  const callbacks = async (transactionIds: readonly bigint[], notificationIds: readonly string[]) => {
    const held = new Set<bigint | string>();
    const named = [...transactionIds, ...notificationIds];
    for (let from = 0; from < named.length; from += callbacksAtOnce) {
      const some = named.slice(from, from + callbacksAtOnce);
      const answer = await ask('notifier', NotifierAdminService, (c) =>
        c.forgetDevice({
          ...request,
          transactionIds: some.filter((id) => typeof id === 'bigint'),
          notificationIds: some.filter((id) => typeof id === 'string'),
        }),
      );
      for (const id of [...answer.heldTransactionIds, ...answer.heldNotificationIds]) held.add(id);
    }
    return held;
  };
  /** The same, where all pages have to be counted, whether notifier is there or not. */
  const countedCallbacks: typeof callbacks = async (...named) => {
    let held: Set<bigint | string> = new Set();
    if (failures.length === 0) {
      await part(async () => {
        held = await callbacks(...named);
      });
    }
    return held;
  };

  await part(async () => {
    await ask('devices', DevicesAdminService, (c) => c.forgetDevice({ deviceId, reference, dryRun }));
  });
  // It is activated, or not known: nothing of it is removed.
  if (failures.length > 0) return { counts, failures, open };

  await part(async () => {
    for (let look = 1; ; look += 1) {
      let [after, owing, left] = ['', 0, 0];
      let transactionIds: bigint[] = [];
      open = 0;
      // What an earlier look found left may be gone.
      for (const tally of [...counts.values()].flat()) tally.left = 0;
      do {
        const named = dryRun ? [] : transactionIds;
        const answer = await ask('transactions', TransactionsAdminService, (c) =>
          c.forgetDevice({ ...request, endOpen, transactionIds: named, after }),
        );
        open += answer.open;
        owing += answer.owing;
        const held = await (dryRun ? countedCallbacks : callbacks)(answer.transactionIds, []);
        left += held.size;
        transactionIds = answer.transactionIds.filter((id) => !held.has(id));
        if (dryRun) add('transactions', [{ what: 'transactions', removed: transactionIds.length }]);
        after = answer.next;
        // The last page is removed by a call that reads none after it.
        if (after === '' && transactionIds.length > 0 && !dryRun) after = lastPage;
      } while (after !== '');
      // What has just ended owes its callback for a moment, and notifier has it for another one.
      if (dryRun || owing + left === 0 || look === looks) {
        add('transactions', [{ what: 'transactions', left: open + owing + left }]);
        return;
      }
      await sleep(betweenLooksMs);
    }
  });

  await part(async () => {
    for (let more = true; more; ) {
      more = (await ask('notifier', NotifierAdminService, (c) => c.forgetDevice(request))).more;
    }
  });

  await part(async () => {
    let after = '';
    let connectionIds: string[] = [];
    do {
      const named = dryRun ? [] : connectionIds;
      const answer = await ask('communication', CommunicationAdminService, (c) =>
        c.forgetDevice({ ...request, connectionIds: named, after }),
      );
      const held = await callbacks(
        [],
        answer.connections.flatMap(({ notificationIds }) => notificationIds),
      );
      const free = answer.connections.filter(
        (one) => one.held === 0 && !one.notificationIds.some((id) => held.has(id)),
      );
      connectionIds = free.map(({ connectionId }) => connectionId);
      add('communication', [{ what: 'connections', left: answer.connections.length - free.length }]);
      if (dryRun) {
        const events = free.reduce((sum, one) => sum + one.events, 0);
        add('communication', [
          { what: 'connections', removed: free.length },
          { what: "contents of Sora's events", removed: events },
        ]);
      }
      after = answer.next;
      if (after === '' && connectionIds.length > 0 && !dryRun) after = lastConnection;
    } while (after !== '');
  });
  return { counts, failures, open };
}

/** Behind every page: the call only removes what it names. */
const lastPage = '0 \uffff';
const lastConnection = '\uffff';

function hasOpen(deviceId: string, open: number): CtlError {
  return new CtlError(
    exitCodes.refused,
    `${open} transactions of ${deviceId} are not processed (ctl transactions list ${deviceId} --open); nothing was removed. Wait until its headset has been online, or cancel them with --end-open.`,
  );
}

function refuseLeft(deviceId: string, { counts, failures }: Outcome): void {
  const again = `Run it again: ctl devices forget ${deviceId}.`;
  const [failed] = failures;
  if (failed) {
    const services = [...new Set(failures.map(({ service }) => service))].join(', ');
    throw new CtlError(failed.error.exitCode, `Not done in ${services}: ${failed.error.message} ${again}`);
  }
  const left = [...counts.values()].flat().reduce((sum, one) => sum + one.left, 0);
  if (left === 0) return;
  throw new CtlError(
    exitCodes.refused,
    `${left} are left, because callbacks of them are still to be delivered or events to be processed. ${again}`,
  );
}

function show(session: Session, { deviceId, dryRun }: Asked, { counts, failures }: Outcome): void {
  const parts = [...counts].map(([service, forgotten]) => ({
    ...{ service, forgotten: [...forgotten] },
    failed: failures.find((one) => one.service === service)?.error.message ?? '',
  }));
  session.show(ForgetReportSchema, create(ForgetReportSchema, { deviceId, dryRun, parts }), describe);
}

function describe({ dryRun, parts }: ForgetReport): string {
  const rows = parts.flatMap(({ service, forgotten, failed }) => [
    ...forgotten.map(({ what, removed, left }) => ({
      ...{ service, what },
      ...{ removed: String(removed), left: left === 0 ? '' : String(left) },
    })),
    ...(failed === '' ? [] : [{ service, what: 'not done', removed: '', left: failed }]),
  ]);
  return table(
    rows,
    [
      ['SERVICE', (one) => one.service],
      ['WHAT', (one) => one.what],
      [dryRun ? 'WOULD REMOVE' : 'REMOVED', (one) => one.removed],
      ['LEFT', (one) => one.left],
    ],
    'Nothing.',
  );
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CliError, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Command } from 'commander';
import type { Session } from '../session.ts';
import {
  checkIntervalMs,
  type ForgetOptions,
  forgetOptions,
  maxChecks,
  type Outcome,
  requireCounted,
  requireNoneLeft,
  showForgotten,
  startForgetRun,
} from './forget-run.ts';

/** Maximum callbacks in one call, because notifier searches for each of them separately. */
const callbacksAtOnce = 500;

/** `devices forget` (ADR 0047). */
export function addForget(group: Command, session: Session): void {
  const command = group
    .command('forget <imei>')
    .description('remove personal data of a device that is not activated; may be interrupted and run again');
  forgetOptions(command, 'cancel its unprocessed transactions first, with their callbacks').action(
    async (deviceId: string, options: Omit<ForgetOptions, 'run'>) => {
      const given = { ...options, deviceId, run: randomUUID() };
      const counted = await forget(session, { ...given, dryRun: true });
      requireCounted(counted, ['devices', 'transactions']);
      if (counted.open > 0 && !options.endOpen) throw openTransactionsError(deviceId, counted.open);
      const done = options.dryRun ? counted : await forget(session, given);
      showForgotten(session, { deviceId }, options.dryRun, done);
      if (!options.dryRun) requireNoneLeft(done, `Run it again: ctl devices forget ${deviceId}.`);
    },
  );
}

interface DeviceForgetOptions extends ForgetOptions {
  readonly deviceId: string;
}

interface DeviceOutcome extends Outcome {
  /** Number of unprocessed transactions. */
  readonly open: number;
}

/**
 * Runs service by service. devices is first: without keys the device sends no new data. The callbacks of a page of
 * transactions or of Sora's connections are removed before the page, because only the page contains their ids.
 */
async function forget(session: Session, given: DeviceForgetOptions): Promise<DeviceOutcome> {
  const { deviceId, reference, dryRun, run, endOpen } = given;
  const request = { deviceId, reference, dryRun, run };
  const { counts, failures, add, ask, part, resetLeft } = startForgetRun(session, dryRun);
  let open = 0;

  /** Removes the callbacks. Returns the transactions and notifications that still have callbacks. */
  const forgetCallbacks = async (transactionIds: readonly bigint[], notificationIds: readonly string[]) => {
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
  /** Like `forgetCallbacks`, for a dry run: counts all pages even if notifier is unavailable. */
  const countCallbacks: typeof forgetCallbacks = async (...named) => {
    let held: Set<bigint | string> = new Set();
    if (failures.length === 0) {
      await part(async () => {
        held = await forgetCallbacks(...named);
      });
    }
    return held;
  };

  await part(async () => {
    await ask('devices', DevicesAdminService, (c) => c.forgetDevice({ deviceId, reference, dryRun }));
  });
  // The device is activated, or unknown. No data is removed.
  if (failures.length > 0) return { counts, failures, open };

  await part(async () => {
    for (let checks = 1; ; checks += 1) {
      let [after, unpublished, left] = ['', 0, 0];
      let transactionIds: bigint[] = [];
      open = 0;
      resetLeft();
      do {
        const named = dryRun ? [] : transactionIds;
        const answer = await ask('transactions', TransactionsAdminService, (c) =>
          c.forgetDevice({ ...request, endOpen, transactionIds: named, after }),
        );
        open += answer.open;
        unpublished += answer.owing;
        const held = await (dryRun ? countCallbacks : forgetCallbacks)(answer.transactionIds, []);
        left += held.size;
        transactionIds = answer.transactionIds.filter((id) => !held.has(id));
        if (dryRun) add('transactions', [{ what: 'transactions', removed: transactionIds.length }]);
        after = answer.next;
        // Each call removes the transactions of the page before. After the last page, one more call is needed.
        if (after === '' && transactionIds.length > 0 && !dryRun) after = lastPage;
      } while (after !== '');
      // Transactions that have just ended may still have to publish their callbacks, and notifier may still have to
      // store them.
      if (dryRun || unpublished + left === 0 || checks === maxChecks) {
        add('transactions', [{ what: 'transactions', left: open + unpublished + left }]);
        return;
      }
      await sleep(checkIntervalMs);
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
      const held = await forgetCallbacks(
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

/** Cursors after the last page: the call reads no page, and only removes the named items. */
const lastPage = '0 \uffff';
const lastConnection = '\uffff';

function openTransactionsError(deviceId: string, open: number): CliError {
  return refusedError(
    `${open} transactions of ${deviceId} are not processed (ctl transactions list ${deviceId} --open); nothing was removed. Wait until its headset has been online, or cancel them with --end-open.`,
  );
}

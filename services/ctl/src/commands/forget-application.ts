import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusedError } from '@headset-cloud/cli/exit-codes.ts';
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

/** `applications forget` (ADR 0047). */
export function addForgetApplication(group: Command, session: Session): void {
  const command = group
    .command('forget <applicationId>')
    .description(
      'permanently remove personal and secret data of an application without devices. The id cannot be used again. May be interrupted and run again; data for its bills stays',
    );
  forgetOptions(command, 'cancel its unprocessed transactions and drop its undelivered callbacks').action(
    async (applicationId: string, options: Omit<ForgetOptions, 'run'>) => {
      const given = { ...options, applicationId, run: randomUUID() };
      const counted = await forget(session, { ...given, dryRun: true });
      requireCounted(counted, ['devices', 'transactions', 'notifier']);
      if (!options.endOpen) requireNoneOpen(applicationId, counted);
      const done = options.dryRun ? counted : await forget(session, given);
      showForgotten(session, { applicationId }, options.dryRun, done);
      if (!options.dryRun) requireNoneLeft(done, `Run it again: ctl applications forget ${applicationId}.`);
    },
  );
}

interface ApplicationForgetOptions extends ForgetOptions {
  readonly applicationId: string;
}

interface ApplicationOutcome extends Outcome {
  /** Number of unprocessed transactions. */
  readonly open: number;
  /** Number of undelivered callbacks; only counted. */
  readonly pending: number;
}

/**
 * Runs service by service. devices is first: without an owner the application gets no new data. transactions is before
 * notifier, because transactions that end here still publish callbacks. communication is last: gateways still accept
 * calls of the application for 5 s after devices has forgotten it, and notifier waits longer than 5 s.
 */
async function forget(session: Session, given: ApplicationForgetOptions): Promise<ApplicationOutcome> {
  const { applicationId, reference, dryRun, run, endOpen } = given;
  const request = { applicationId, reference, dryRun, run };
  const { counts, failures, add, ask, part, resetLeft } = startForgetRun(session, dryRun);
  let [open, pending] = [0, 0];

  await part(async () => {
    for (let more = true; more; ) {
      more = (await ask('devices', DevicesAdminService, (c) => c.forgetApplication(request))).more;
    }
  });
  // The application has devices, or is unknown. No data is removed.
  if (failures.length > 0) return { counts, failures, open, pending };

  await part(async () => {
    for (let checks = 1; ; checks += 1) {
      let [after, unpublished] = [0n, 0];
      open = 0;
      resetLeft();
      do {
        const answer = await ask('transactions', TransactionsAdminService, (c) =>
          c.forgetApplication({ ...request, endOpen, after }),
        );
        open += answer.open;
        unpublished += answer.owing;
        after = answer.next;
      } while (after !== 0n);
      // Transactions that have just ended may still have to publish their callbacks.
      if (dryRun || open + unpublished === 0 || checks === maxChecks) {
        add('transactions', [{ what: 'transactions', left: open + unpublished }]);
        return;
      }
      await sleep(checkIntervalMs);
    }
  });

  await part(async () => {
    for (let more = true; more; ) {
      const answer = await ask('notifier', NotifierAdminService, (c) => c.forgetApplication(request));
      pending += answer.pending;
      more = answer.more;
      // notifier waits until every instance drops events of the application in the log.
      if (more && answer.forgotten.every(({ removed }) => removed === 0)) await sleep(checkIntervalMs);
    }
  });

  await part(async () => {
    let after = '';
    do {
      const answer = await ask('communication', CommunicationAdminService, (c) =>
        c.forgetApplication({ ...request, after }),
      );
      after = answer.next;
    } while (after !== '');
  });
  return { counts, failures, open, pending };
}

function requireNoneOpen(applicationId: string, { open, pending }: ApplicationOutcome): void {
  if (open > 0) {
    throw refusedError(
      `${open} transactions of ${applicationId} are not processed (ctl transactions find --application ${applicationId}); nothing was removed. Wait until their headsets have been online, or cancel them with --end-open.`,
    );
  }
  if (pending === 0) return;
  throw refusedError(
    `${pending} callbacks of ${applicationId} are not delivered (ctl deliveries list --application ${applicationId} --state pending); nothing was removed. Wait until they are delivered, or drop them with --end-open.`,
  );
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '@headset-cloud/kit/cli/exit-codes.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Command } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import {
  type Asked,
  betweenLooksMs,
  forgetOptions,
  looks,
  type Outcome,
  refuseLeft,
  requireCounted,
  showForgotten,
  startForgetRun,
} from './forget-run.ts';

/** `applications forget` (ADR 0047). */
export function addForgetApplication(group: Command, session: Session): void {
  const command = group
    .command('forget <applicationId>')
    .description(
      'remove what is personal or secret of an application without devices, for good: its id is never given again. May be interrupted and run again; what its bills are computed from stays',
    );
  forgetOptions(
    command,
    'cancel its unprocessed transactions, and give up its callbacks that are not delivered',
  ).action(async (applicationId: string, options: Omit<Asked, 'run'>) => {
    const asked = { ...options, applicationId, run: randomUUID() };
    const counted = await forget(session, { ...asked, dryRun: true });
    requireCounted(counted, ['devices', 'transactions', 'notifier']);
    if (!options.endOpen) refuseOpen(applicationId, counted);
    const done = options.dryRun ? counted : await forget(session, asked);
    showForgotten(session, { applicationId }, options.dryRun, done);
    if (!options.dryRun) refuseLeft(done, `Run it again: ctl applications forget ${applicationId}.`);
  });
}

interface AskedOfApplication extends Asked {
  readonly applicationId: string;
}

interface ApplicationOutcome extends Outcome {
  /** Transactions that are not processed. */
  readonly open: number;
  /** Counted only: callbacks that are not delivered. */
  readonly pending: number;
}

/**
 * Service by service: devices first, since without an owner nobody makes anything new of it. Then the transactions,
 * whose ends owe callbacks, and notifier. Channels come last: gateways let calls through for 5 s after devices has
 * forgotten the application, and notifier waits longer than that.
 */
async function forget(session: Session, asked: AskedOfApplication): Promise<ApplicationOutcome> {
  const { applicationId, reference, dryRun, run, endOpen } = asked;
  const request = { applicationId, reference, dryRun, run };
  const { counts, failures, add, ask, part, lookAgain } = startForgetRun(session, dryRun);
  let [open, pending] = [0, 0];

  await part(async () => {
    for (let more = true; more; ) {
      more = (await ask('devices', DevicesAdminService, (c) => c.forgetApplication(request))).more;
    }
  });
  // It has devices, or is not known: nothing of it is removed.
  if (failures.length > 0) return { counts, failures, open, pending };

  await part(async () => {
    for (let look = 1; ; look += 1) {
      let [after, owing] = [0n, 0];
      open = 0;
      lookAgain();
      do {
        const answer = await ask('transactions', TransactionsAdminService, (c) =>
          c.forgetApplication({ ...request, endOpen, after }),
        );
        open += answer.open;
        owing += answer.owing;
        after = answer.next;
      } while (after !== 0n);
      // What has just ended owes its callback for a moment.
      if (dryRun || open + owing === 0 || look === looks) {
        add('transactions', [{ what: 'transactions', left: open + owing }]);
        return;
      }
      await sleep(betweenLooksMs);
    }
  });

  await part(async () => {
    for (let more = true; more; ) {
      const answer = await ask('notifier', NotifierAdminService, (c) => c.forgetApplication(request));
      pending += answer.pending;
      more = answer.more;
      // It waits until every instance drops what is still in the log.
      if (more && answer.forgotten.every(({ removed }) => removed === 0)) await sleep(betweenLooksMs);
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

function refuseOpen(applicationId: string, { open, pending }: ApplicationOutcome): void {
  if (open > 0) {
    throw new CliError(
      exitCodes.refused,
      `${open} transactions of ${applicationId} are not processed (ctl transactions find --application ${applicationId}); nothing was removed. Wait until their headsets have been online, or cancel them with --end-open.`,
    );
  }
  if (pending === 0) return;
  throw new CliError(
    exitCodes.refused,
    `${pending} callbacks of ${applicationId} are not delivered (ctl deliveries list --application ${applicationId} --status pending); nothing was removed. Wait until they are, or give them up with --end-open.`,
  );
}

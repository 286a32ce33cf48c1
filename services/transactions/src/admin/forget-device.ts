import type { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { DeadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetRequest } from '@headset-cloud/rules/forget/request.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Canceler } from '../cancel/canceler.ts';
import { cancelMessages } from '../domain/state.ts';
import type { ForgetStore } from '../ports/forget-store.ts';

/** Maximum number of transaction ids in a call; a page has fewer. */
const maxNamed = 1000;

export interface ForgetDependencies {
  readonly forgetting: ForgetStore;
  readonly deadLetters: DeadLettersOfDevice;
  readonly marks: ForgetMarks;
  readonly canceler: Pick<Canceler, 'cancel'>;
  readonly audit: Audit;
}

type AdminHandlers = Handlers<typeof TransactionsAdminService>;

/**
 * Removes a device's transactions (ADR 0047). Their callbacks in notifier are found by transaction id only. So ctl
 * first removes the callbacks of a page, then passes the page's ids to this call.
 */
export function forgetHandler({
  forgetting,
  deadLetters,
  marks,
  canceler,
  audit,
}: ForgetDependencies): Pick<AdminHandlers, 'forgetDevice'> {
  return {
    async forgetDevice(request) {
      requireForgetRequest(request);
      const { deviceId, run, dryRun, after, endOpen } = request;
      const named = request.transactionIds.map(Number);
      if (named.length > maxNamed) {
        throw new DomainError('invalid_argument', `transaction_ids: at most ${maxNamed}.`);
      }
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) => marks.begin(deviceId, run, record));
      }
      const removed = dryRun ? 0 : await forgetting.remove(deviceId, named);
      const isFirstCall = after === '' && named.length === 0;
      const dead = isFirstCall
        ? await forgetDeadLetters(deadLetters, deviceId, dryRun)
        : { removed: 0, left: 0 };
      const page = await forgetting.page(deviceId, after);
      // The device's keys are deleted, so no headset can end the open transactions.
      const canceled = dryRun || !endOpen ? [] : await canceler.cancel(page.open, cancelMessages.request);
      return {
        forgotten: [
          { what: 'transactions', removed },
          { what: 'dead letters', ...dead },
        ],
        transactionIds: page.settled.map(BigInt),
        open: page.open.length - canceled.length,
        owing: page.pending + canceled.length,
        next: page.next,
      };
    },
  };
}

async function forgetDeadLetters(deadLetters: DeadLettersOfDevice, deviceId: string, dryRun: boolean) {
  return dryRun ? { removed: await deadLetters.count(deviceId), left: 0 } : deadLetters.remove(deviceId);
}

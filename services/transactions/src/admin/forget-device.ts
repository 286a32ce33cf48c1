import type { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { LettersOfDevice } from '@headset-cloud/rules/forget/letters.ts';
import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetRequest } from '@headset-cloud/rules/forget/request.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Canceler } from '../cancel/canceler.ts';
import { cancelMessages } from '../domain/state.ts';
import type { ForgetStore } from '../ports/forget-store.ts';

/** Most transactions that one call names: more than a page has. */
const mostNamed = 1000;

export interface ForgetDependencies {
  readonly forgetting: ForgetStore;
  readonly letters: LettersOfDevice;
  readonly marks: ForgetMarks;
  readonly canceler: Pick<Canceler, 'cancel'>;
  readonly audit: Audit;
}

type AdminHandlers = Handlers<typeof TransactionsAdminService>;

/**
 * Removes a device's transactions (ADR 0047). Their callbacks lie in notifier under ids that only the
 * transactions tell, so ctl removes those of a page first, and then names the page here.
 */
export function forgetHandler({
  forgetting,
  letters,
  marks,
  canceler,
  audit,
}: ForgetDependencies): Pick<AdminHandlers, 'forgetDevice'> {
  return {
    async forgetDevice(request) {
      requireForgetRequest(request);
      const { deviceId, run, dryRun, after, endOpen } = request;
      const named = request.transactionIds.map(Number);
      if (named.length > mostNamed) {
        throw new DomainError('invalid_argument', `transaction_ids: at most ${mostNamed}.`);
      }
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) => marks.begin(deviceId, run, record));
      }
      const removed = dryRun ? 0 : await forgetting.remove(deviceId, named);
      const first = after === '' && named.length === 0;
      const dead = first ? await lettersOf(letters, deviceId, dryRun) : { removed: 0, left: 0 };
      const page = await forgetting.page(deviceId, after);
      // Its keys are gone, so no headset can end them any more.
      const canceled = dryRun || !endOpen ? [] : await canceler.cancel(page.open, cancelMessages.request);
      return {
        forgotten: [
          { what: 'transactions', removed },
          { what: 'dead letters', ...dead },
        ],
        transactionIds: page.settled.map(BigInt),
        open: page.open.length - canceled.length,
        owing: page.owing + canceled.length,
        next: page.next,
      };
    },
  };
}

async function lettersOf(letters: LettersOfDevice, deviceId: string, dryRun: boolean) {
  return dryRun ? { removed: await letters.count(deviceId), left: 0 } : letters.remove(deviceId);
}

import type { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { applicationMark } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetApplication } from '@headset-cloud/rules/forget/request.ts';
import { cancelMessages } from '../domain/state.ts';
import type { ForgetDependencies } from './forget-device.ts';

/**
 * Removes an application's transactions (ADR 0047). Their callbacks in notifier are found by the application, so the
 * order does not matter.
 */
export function applicationForgetHandler({
  forgetting,
  marks,
  canceler,
  audit,
}: Pick<ForgetDependencies, 'forgetting' | 'marks' | 'canceler' | 'audit'>): Pick<
  Handlers<typeof TransactionsAdminService>,
  'forgetApplication'
> {
  return {
    async forgetApplication(request) {
      requireForgetApplication(request);
      const { applicationId, run, dryRun, after, endOpen } = request;
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) =>
          marks.begin(applicationMark(applicationId), run, record),
        );
      }
      const page = await forgetting.pageOfApplication(applicationId, Number(after));
      const removed = dryRun
        ? page.settled.length
        : await forgetting.removeOfApplication(applicationId, page.settled);
      // The application has no devices, so no headset needs a `revoke`.
      const canceled = dryRun || !endOpen ? [] : await canceler.cancel(page.open, cancelMessages.request);
      return {
        forgotten: [{ what: 'transactions', removed }],
        open: page.open.length - canceled.length,
        owing: page.pending + canceled.length,
        next: BigInt(page.next),
      };
    },
  };
}

import type { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { DeadLettersOfDevice } from '@headset-cloud/rules/forget/dead-letters.ts';
import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetRequest } from '@headset-cloud/rules/forget/request.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { ForgetStore } from '../ports/forget-store.ts';

/** Maximum number of ids in a call. */
const mostNamed = 1000;

type AdminHandlers = Handlers<typeof NotifierAdminService>;

/** Removes a device's finished callbacks (ADR 0047). Callbacks that are still pending stay. */
export function forgetHandler({
  forgetting,
  deadLetters,
  marks,
  audit,
}: {
  readonly forgetting: ForgetStore;
  readonly deadLetters: DeadLettersOfDevice;
  readonly marks: ForgetMarks;
  readonly audit: Audit;
}): Pick<AdminHandlers, 'forgetDevice'> {
  return {
    async forgetDevice(request) {
      requireForgetRequest(request);
      const { deviceId, run, dryRun, transactionIds, notificationIds } = request;
      const named = transactionIds.length + notificationIds.length;
      if (named > mostNamed) {
        throw new DomainError('invalid_argument', `At most ${mostNamed} transactions and notifications.`);
      }
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) => marks.begin(deviceId, run, record));
      }
      if (named === 0) {
        const { more, ...deliveries } = await forgetting.reported(deviceId, dryRun);
        const forgotten = [{ what: 'callbacks', ...deliveries }];
        if (more) return { forgotten, more };
        const dead = dryRun
          ? { removed: await deadLetters.count(deviceId), left: 0 }
          : await deadLetters.remove(deviceId);
        return { forgotten: [...forgotten, { what: 'dead letters', ...dead }] };
      }
      let [removed, left] = [0, 0];
      /** Adds up the counts; returns whether callbacks are left. */
      const addUp = (one: { removed: number; left: number }) => {
        removed += one.removed;
        left += one.left;
        return one.left > 0;
      };
      // One after the other, so that other calls are not delayed.
      const heldTransactionIds: bigint[] = [];
      for (const id of transactionIds) {
        if (addUp(await forgetting.ofTransaction(Number(id), dryRun))) heldTransactionIds.push(id);
      }
      const heldNotificationIds: string[] = [];
      for (const id of notificationIds) {
        if (addUp(await forgetting.one(id, dryRun))) heldNotificationIds.push(id);
      }
      return { forgotten: [{ what: 'callbacks', removed, left }], heldTransactionIds, heldNotificationIds };
    },
  };
}

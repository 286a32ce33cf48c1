import type { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetRequest } from '@headset-cloud/rules/forget/request.ts';
import type { ForgetStore } from '../ports/forget-store.ts';

export interface ForgetDependencies {
  readonly forgetting: ForgetStore;
  readonly marks: ForgetMarks;
  readonly audit: Audit;
}

type AdminHandlers = Handlers<typeof CommunicationAdminService>;

/**
 * Removes the content of the Sora events of a device's connections (ADR 0047). Each call returns a page of connections
 * with the ids of their callbacks, which the notifier stores. ctl removes these callbacks first, and then sends the ids
 * of the page's connections in the next call.
 */
export function forgetHandler({
  forgetting,
  marks,
  audit,
}: ForgetDependencies): Pick<AdminHandlers, 'forgetDevice'> {
  return {
    async forgetDevice(request) {
      requireForgetRequest(request);
      const { deviceId, run, dryRun, connectionIds, after } = request;
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) => marks.begin(deviceId, run, record));
      }
      const done = dryRun
        ? { connections: 0, events: 0, left: 0 }
        : await forgetting.forget(deviceId, connectionIds);
      return {
        forgotten: [
          { what: 'connections', removed: done.connections, left: done.left },
          { what: "contents of Sora's events", removed: done.events },
        ],
        ...(await forgetting.page(deviceId, after)),
      };
    },
  };
}

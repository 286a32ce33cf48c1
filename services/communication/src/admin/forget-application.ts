import type { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { applicationMark } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetApplication } from '@headset-cloud/rules/forget/request.ts';
import type { ApplicationForgetStore } from '../ports/application-forget-store.ts';
import type { ForgetDependencies } from './forget-device.ts';

export interface ForgetApplicationDependencies extends Pick<ForgetDependencies, 'marks' | 'audit'> {
  readonly forgettingApplications: ApplicationForgetStore;
}

/** Removes an application's data of meetings and recordings (ADR 0047). */
export function applicationForgetHandler({
  forgettingApplications,
  marks,
  audit,
}: ForgetApplicationDependencies): Pick<Handlers<typeof CommunicationAdminService>, 'forgetApplication'> {
  return {
    async forgetApplication(request) {
      requireForgetApplication(request);
      const { applicationId, run, dryRun, after } = request;
      if (!dryRun) {
        await audit.change(forgetSubject(request), (record) =>
          marks.begin(applicationMark(applicationId), run, record),
        );
      }
      const page = await forgettingApplications.forget(applicationId, after, dryRun);
      return {
        forgotten: [
          { what: 'channels', removed: page.channels },
          { what: "contents of Sora's events", removed: page.events },
          { what: "recordings' records", removed: page.recordings },
          { what: 'events or uploads under way', left: page.held },
        ],
        next: page.next,
      };
    },
  };
}

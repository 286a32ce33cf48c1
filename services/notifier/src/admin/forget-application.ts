import type { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import { applicationMark, type ForgetMarks } from '@headset-cloud/rules/forget/marks.ts';
import { forgetSubject, requireForgetApplication } from '@headset-cloud/rules/forget/request.ts';
import type { ForgetStore } from '../ports/forget-store.ts';
import type { ForgottenApplications } from '../ports/forgotten-applications.ts';

/**
 * Removes an application's callbacks (ADR 0047), including undelivered callbacks, because devices has forgotten their
 * URLs.
 */
export function applicationForgetHandler({
  forgetting,
  forgottenApplications,
  marks,
  audit,
}: {
  readonly forgetting: ForgetStore;
  readonly forgottenApplications: Pick<ForgottenApplications, 'isKnownEverywhere'>;
  readonly marks: ForgetMarks;
  readonly audit: Audit;
}): Pick<Handlers<typeof NotifierAdminService>, 'forgetApplication'> {
  return {
    async forgetApplication(request) {
      requireForgetApplication(request);
      const { applicationId, run, dryRun } = request;
      if (dryRun) {
        const { pending, ...counted } = await forgetting.countOfApplication(applicationId);
        return { forgotten: [{ what: 'callbacks', ...counted }], pending };
      }
      await audit.change(forgetSubject(request), (record) =>
        marks.begin(applicationMark(applicationId), run, record),
      );
      // Read first, so that callbacks that other instances have stored before are found below.
      const known = await forgottenApplications.isKnownEverywhere(applicationId);
      const { removed, left, probes, more: found } = await forgetting.ofApplication(applicationId);
      const more = found || !known;
      return {
        forgotten: [
          // The number of remaining callbacks is reported once, at the end.
          { what: 'callbacks', removed, left: more ? 0 : left },
          { what: 'probes of its servers', removed: probes },
        ],
        more,
      };
    },
  };
}

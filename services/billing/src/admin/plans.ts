import type { MessageInitShape } from '@bufbuild/protobuf';
import type { BillingAdminService, DevicePlansSchema } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireApplicationId, requireDeviceId } from '../domain/ids.ts';
import { plansBefore, requirePlans } from '../domain/plans.ts';
import { plansMessage } from '../messages.ts';
import type { AdminDependencies } from './dependencies.ts';

/** Plans of devices with an application. */
export function plansHandlers({
  plans: store,
  clock,
  audit,
}: Pick<AdminDependencies, 'plans' | 'clock' | 'audit'>): Pick<
  Handlers<typeof BillingAdminService>,
  'putPlans' | 'listPlans'
> {
  return {
    async putPlans({ applicationId, deviceId, plans: given }) {
      requireApplicationId(applicationId);
      requireDeviceId(deviceId);
      if (!given) throw new DomainError('invalid_argument', 'plans is missing.');
      const plans = requirePlans(given.videoMeeting, given.speechRecognition);
      const subject = { applicationId, deviceId, fields: ['plans'] };
      await audit.change(subject, (record) => store.put(applicationId, deviceId, plans, clock.now(), record));
      return {};
    },

    async listPlans({ applicationId }) {
      requireApplicationId(applicationId);
      const plans: MessageInitShape<typeof DevicePlansSchema>[] = [];
      for await (const { deviceId, history } of store.histories(applicationId)) {
        plans.push({ deviceId, plans: plansMessage(plansBefore(history, Number.POSITIVE_INFINITY)) });
      }
      return { plans };
    },
  };
}

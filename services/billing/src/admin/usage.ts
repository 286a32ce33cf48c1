import type { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireApplicationId } from '../domain/ids.ts';
import { requireMonth, spanOf } from '../domain/month.ts';
import { usageMessage, usageOfMessage } from '../usage-message.ts';
import type { AdminDependencies } from './dependencies.ts';

const maxListed = 1000;

/** Adds usage that no service meters, and lists the stored usage. */
export function usageHandlers({
  usage: store,
  zone,
  audit,
}: Pick<AdminDependencies, 'usage' | 'zone' | 'audit'>): Pick<
  Handlers<typeof BillingAdminService>,
  'addUsage' | 'listUsage'
> {
  return {
    async addUsage({ usage: given }) {
      if (!given) throw new DomainError('invalid_argument', 'usage is missing.');
      const usage = usageOfMessage(given);
      const { applicationId, deviceId, usageId: target } = usage;
      const subject = { applicationId, deviceId, target, fields: ['usage'] };
      const { added, conflicting } = await audit.change(subject, (record) => store.record([usage], record));
      if (conflicting.size > 0) {
        throw new DomainError('conflict', `The usage ${usage.usageId} is known with other content.`);
      }
      return { added: added === 1 };
    },

    async listUsage({ applicationId, year, month: number, limit, offset }) {
      requireApplicationId(applicationId);
      const month = requireMonth({ year, month: number });
      if (limit > maxListed) {
        throw new DomainError('invalid_argument', `limit ${limit} is more than ${maxListed}.`);
      }
      const page = { limit: limit || 100, offset };
      const found = await store.list(applicationId, month, spanOf(month, zone), page);
      return { usage: found.map(usageMessage) };
    },
  };
}

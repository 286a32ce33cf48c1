import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireClientIds, requireId, requireName } from '../domain/provisioning.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** Developers and the OIDC clients that belong to them. */
export function developerHandlers({
  developers,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'putDeveloper' | 'listDevelopers'> {
  return {
    async putDeveloper({ developer }) {
      const developerId = requireId('developer_id', developer?.developerId ?? '');
      const wanted = {
        developerId,
        name: requireName('name', developer?.name || developerId),
        clientIds: requireClientIds(developer?.clientIds ?? []),
      };
      const refused = await audit.change({ developerId, fields: ['name', 'clientIds'] }, (record) =>
        developers.put(wanted, record),
      );
      if (refused) {
        throw new DomainError(
          'conflict',
          `The client ${refused.takenClientId} belongs to another developer; a client belongs to one.`,
        );
      }
      return { developer: wanted };
    },
    async listDevelopers() {
      const all = await developers.list();
      return { developers: all.map((one) => ({ ...one, clientIds: [...one.clientIds] })) };
    },
  };
}

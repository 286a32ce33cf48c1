import { randomUUID } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { requireId, requireName } from '../domain/provisioning.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** Applications and their owners. */
export function applicationHandlers({
  applications,
  developers,
  clock,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'createApplication' | 'listApplications'> {
  return {
    async createApplication({ application }) {
      const developerId = requireId('developer_id', application?.developerId ?? '');
      const applicationId = requireId('application_id', application?.applicationId || randomUUID());
      const wanted = {
        applicationId,
        developerId,
        name: requireName('name', application?.name || applicationId),
      };
      if (!(await developers.exists(developerId))) {
        throw new DomainError(
          'not_found',
          `The developer ${developerId} does not exist. Create it: ctl developers put ${developerId}`,
        );
      }
      const created = await audit.change({ applicationId, developerId, fields: ['name'] }, (record) =>
        applications.create(wanted, clock.now(), record),
      );
      if (!created) {
        const known = await applications.get(applicationId);
        if (!known) {
          throw new DomainError(
            'conflict',
            `The application ${applicationId} is forgotten, and its id cannot be used again. Choose another id.`,
          );
        }
        // Creating the same application again is not an error, because provisioning scripts may run twice.
        if (known.developerId !== developerId || known.name !== wanted.name) {
          throw new DomainError(
            'conflict',
            `The application ${applicationId} exists, with another owner or name.`,
          );
        }
      }
      return { application: wanted };
    },
    async listApplications({ developerId }) {
      return { applications: await applications.list(developerId || undefined) };
    },
  };
}

import type { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { artifactId } from '../domain/artifact.ts';
import type { AdminDependencies } from './dependencies.ts';
import { artifactInfo, kindOf } from './messages.ts';

/** Withdraws an artifact: headsets get no more URLs for it, its content is kept. Idempotent. */
export function withdrawArtifactHandler(
  deps: AdminDependencies,
): Handlers<typeof UpdatesAdminService>['withdrawArtifact'] {
  return async ({ kind: given, package: packageName, version }) => {
    const kind = kindOf(given);
    if (!kind) throw new DomainError('invalid_argument', 'kind must be software or firmware.');
    const id = artifactId({ kind, package: packageName, version });
    const existing = await deps.catalogue.get(id);
    const subject = { target: id, fields: ['state'], ...(existing && { developerId: existing.developerId }) };
    const withdraw = () =>
      deps.audit.change(subject, (record) => deps.catalogue.withdraw(id, deps.clock.now(), record));
    const withdrawn = existing?.package === packageName ? await withdraw() : undefined;
    if (!withdrawn) {
      throw new DomainError('not_found', `The ${kind} ${packageName} ${version} does not exist.`);
    }
    return { artifact: artifactInfo(withdrawn) };
  };
}

import type { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { AdminDependencies } from './dependencies.ts';
import { artifactInfo, kindOf } from './messages.ts';

const defaultLimit = 100;
const maxLimit = 1000;
/** Maximum artifacts whose uploads one call checks. */
const maxChecked = 20;

/**
 * Lists the catalogue, ordered by package, newest version first. Includes versions that are not deliverable, with the
 * reason. First checks uploads of the listed artifacts that may have arrived.
 */
export function listArtifactsHandler(
  deps: AdminDependencies,
): Handlers<typeof UpdatesAdminService>['listArtifacts'] {
  return async ({ kind, package: packageName, limit }) => {
    if (limit > maxLimit) throw new DomainError('invalid_argument', `limit is at most ${maxLimit}.`);
    const onlyKind = kindOf(kind);
    const query = { package: packageName, limit: limit || defaultLimit, ...(onlyKind && { kind: onlyKind }) };
    const listed = await deps.catalogue.list(query);
    const uploading = listed.filter((a) => a.state === 'uploading').slice(0, maxChecked);
    if (uploading.length === 0) return { artifacts: listed.map(artifactInfo) };
    await Promise.all(uploading.map((a) => deps.checkNow({ artifactId: a.id })));
    return { artifacts: (await deps.catalogue.list(query)).map(artifactInfo) };
  };
}

import type { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { AdminDependencies } from './dependencies.ts';
import { artifactInfo, kindOf } from './messages.ts';

const defaultLimit = 100;
const maxLimit = 1000;

/**
 * The catalogue, including versions that are not deliverable, with the reason; by package, newest version
 * first.
 */
export function listArtifactsHandler(
  deps: AdminDependencies,
): Handlers<typeof UpdatesAdminService>['listArtifacts'] {
  return async ({ kind, package: packageName, limit }) => {
    if (limit > maxLimit) throw new DomainError('invalid_argument', `limit is at most ${maxLimit}.`);
    const only = kindOf(kind);
    const query = { package: packageName, limit: limit || defaultLimit, ...(only && { kind: only }) };
    const before = await deps.catalogue.list(query);
    const open = before.filter((a) => a.state === 'uploading').slice(0, 20);
    if (open.length === 0) return { artifacts: before.map(artifactInfo) };
    await Promise.all(open.map((a) => deps.checkNow({ artifactId: a.id })));
    return { artifacts: (await deps.catalogue.list(query)).map(artifactInfo) };
  };
}

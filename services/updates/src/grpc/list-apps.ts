import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import { developerOf, requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Specification API 9. */
const defaultLimit = 100;
const maxLimit = 1000;

/** GET …/apps: the developer's deliverable software, by package, newest version first. */
export function listAppsHandler(deps: HandlerDependencies): Handlers<typeof UpdatesService>['listApps'] {
  return async ({ caller: given, package: packageName, latest, offset, limit }) => {
    const caller = requireCaller(given);
    if (limit > maxLimit) throw refusals.limit(maxLimit);
    const developerId = await developerOf(deps, caller);
    await deps.checkNow({ developerId });
    const { items, total } = await deps.catalogue.listDeliverable({
      ...{ developerId, package: packageName, latest, offset },
      limit: limit || defaultLimit,
    });
    return { appVersions: [...items], totalCount: total };
  };
}

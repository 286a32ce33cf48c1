import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** GET …/firmware: all deliverable firmware, by package, newest version first. */
export function listFirmwareHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['listFirmware'] {
  return async () => {
    // Firmware has no developer.
    await deps.checkNow({ developerId: '' });
    return { firmwareVersions: [...(await deps.catalogue.listFirmware())] };
  };
}

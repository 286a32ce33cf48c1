import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { readableStatus } from '../device-status.ts';
import type { HandlerDependencies } from './dependencies.ts';

const maxPageSize = 1000;
const defaultLimit = 100;

/** GET …/devices/status: the devices that the application has activated now, in pages. */
export function listDeviceStatusesHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['listDeviceStatuses'] {
  return async ({ applicationId, afterDeviceId, limit: asked }) => {
    const limit = Math.min(asked || defaultLimit, maxPageSize);
    // One device more than the page shows whether there is a next page.
    const devices = await deps.reader.activatedBy(applicationId, afterDeviceId, limit + 1);
    return { statuses: devices.slice(0, limit).map(readableStatus), more: devices.length > limit };
  };
}

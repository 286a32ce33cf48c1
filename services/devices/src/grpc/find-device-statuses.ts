import type {
  DevicesService,
  FindDeviceStatusesRequest,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { readableStatus } from '../device-status.ts';
import { matches, readableClient, type StatusFilter } from '../domain/status-filter.ts';
import type { DeviceReader, DeviceWithReport } from '../ports/device-reader.ts';
import type { HandlerDependencies } from './dependencies.ts';

const maxPageSize = 100;
/** Maximum devices that one call reads, which limits the cost of a filter with few matches. */
const maxDevicesRead = 1000;

/** GET …/device_statuses: the matching devices that the application has activated now, in pages. */
export function findDeviceStatusesHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['findDeviceStatuses'] {
  return async (request) => {
    const { applicationId, afterDeviceId } = request;
    const limit = Math.min(request.limit || maxPageSize, maxPageSize);
    const filter = filterOf(request);
    const hasFilter = Object.keys(filter).length > 0;
    const { found, next } = hasFilter
      ? await filtered(deps.reader, applicationId, afterDeviceId, limit, filter)
      : await all(deps.reader, applicationId, afterDeviceId, limit);
    return { found: found.map(message), nextAfterDeviceId: next };
  };
}

interface Page {
  readonly found: readonly DeviceWithReport[];
  /** Empty after the last page. */
  readonly next: string;
}

async function all(reader: DeviceReader, applicationId: string, after: string, limit: number): Promise<Page> {
  // One device more than the page shows whether there is a next page.
  const devices = await reader.activatedBy(applicationId, after, limit + 1);
  const found = devices.slice(0, limit);
  return { found, next: devices.length > limit ? (found.at(-1)?.deviceId ?? '') : '' };
}

async function filtered(
  reader: DeviceReader,
  applicationId: string,
  after: string,
  limit: number,
  filter: StatusFilter,
): Promise<Page> {
  const candidates = await reader.filterable(applicationId, after, maxDevicesRead);
  const matching = candidates.filter((device) => matches(device, filter));
  const page = matching.slice(0, limit);
  const found =
    page.length === 0
      ? []
      : await reader.activatedAmong(
          applicationId,
          page.map(({ deviceId }) => deviceId),
        );
  // The next page starts after the last match of this page, or after the last device that was read.
  const last = matching.length > limit ? page.at(-1) : candidates.at(-1);
  const isLastPage = matching.length <= limit && candidates.length < maxDevicesRead;
  // Filters again, because a device may have changed between the two reads.
  return {
    found: found.filter((device) => matches(device, filter)),
    next: isLastPage ? '' : (last?.deviceId ?? ''),
  };
}

function message(device: DeviceWithReport) {
  const sinceMs = device.activation?.sinceMs;
  const clientVersion = readableClient(device);
  return {
    status: readableStatus(device),
    ...(sinceMs !== undefined && { activatedAtMs: BigInt(sinceMs) }),
    ...(clientVersion !== undefined && { clientVersion }),
  };
}

function filterOf(request: FindDeviceStatusesRequest): StatusFilter {
  const { activatedSinceMs, network, batteryBelow, clientVersion } = request;
  return {
    ...(activatedSinceMs !== undefined && { activatedSinceMs: Number(activatedSinceMs) }),
    ...(network !== undefined && { network }),
    ...(batteryBelow !== undefined && { batteryBelow }),
    ...(clientVersion !== undefined && { clientVersion }),
  };
}

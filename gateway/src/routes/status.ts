import type { DeviceStatus } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { GatewayClients } from '../clients.ts';
import { dateOrNull } from './encode.ts';
import type { Handlers } from './types.ts';

const pageSize = 200;

/** The read form of a device's reported state; unknown values are null (rule A1). */
export function statusJson(s: DeviceStatus): object {
  return {
    deviceId: s.deviceId,
    power: s.power ?? null,
    wearing: s.wearing ?? null,
    network: s.network ?? null,
    charging: s.charging ?? null,
    batteryPercentage: s.batteryPercentage ?? null,
    latitude: s.latitude ?? null,
    longitude: s.longitude ?? null,
    firmware: s.firmwareVersion === undefined ? null : { version: s.firmwareVersion },
    apps: s.reported ? s.apps.map((a) => ({ package: a.package, version: a.version })) : null,
    lang: s.reported ? s.languages : null,
    powerUpdateDate: dateOrNull(s.powerUpdatedAtMs),
    wearingUpdateDate: dateOrNull(s.wearingUpdatedAtMs),
    networkUpdateDate: dateOrNull(s.networkUpdatedAtMs),
    chargingUpdateDate: dateOrNull(s.chargingUpdatedAtMs),
    batteryUpdateDate: dateOrNull(s.batteryUpdatedAtMs),
    locationUpdateDate: dateOrNull(s.locationUpdatedAtMs),
  };
}

/** The statuses of all devices of an application as JSON text, one page of the service at a time. */
async function* statusList(
  devices: GatewayClients['devices'],
  applicationId: string,
): AsyncGenerator<string> {
  let afterDeviceId = '';
  let separator = '{"devices":[';
  for (;;) {
    const page = await devices.listDeviceStatuses({ applicationId, afterDeviceId, limit: pageSize });
    let text = '';
    for (const status of page.statuses) {
      text += separator + JSON.stringify(statusJson(status));
      separator = ',';
    }
    const last = page.statuses.at(-1);
    if (!page.more || !last) {
      yield separator === ',' ? `${text}]}` : '{"devices":[]}';
      return;
    }
    // A page that does not advance would loop forever.
    if (last.deviceId <= afterDeviceId) throw new Error('the list of statuses does not advance');
    afterDeviceId = last.deviceId;
    yield text;
  }
}

/** Reported state of one device, and of all devices (rule A12: streamed, not paged). */
export function statusHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'get-v1-applications-devices-status': async ({ applicationId, deviceId }) => {
      const { status } = await devices.getDeviceStatus({ applicationId, deviceId });
      if (!status) throw new Error('the devices service returned no status');
      return { status: 200, json: statusJson(status) };
    },

    'get-v1-applications-devices-status-list': async ({ applicationId }) => ({
      status: 200,
      pieces: statusList(devices, applicationId),
    }),
  };
}

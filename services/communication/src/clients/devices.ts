import { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { type Channel, createClient } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Devices } from '../ports/devices.ts';

const deadlineMs = 3000;

/** Client of the devices service. */
export function createDevices(channel: Channel): Devices {
  const devices = createClient(DevicesService, channel, { deadlineMs });
  const applications = createClient(ApplicationsService, channel, { deadlineMs });
  return {
    async applicationOf(deviceId) {
      try {
        return (await devices.getAssociation({ deviceId })).applicationId;
      } catch (error) {
        // Not an error: a client that joins a channel may claim any device id.
        if (error instanceof DomainError && error.code === 'not_found') return '';
        throw error;
      }
    },
    async isSet(applicationId, setting) {
      return (await applications.getDestination({ applicationId, setting })).url !== '';
    },
  };
}

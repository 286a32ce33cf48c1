import { DomainError } from '@headset-cloud/kit/errors.ts';
import { type Channel, createClient } from '@headset-cloud/kit/rpc/types.ts';
import { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { DestinationAddress, Destinations } from '../ports.ts';

const deadlineMs = 3000;

/**
 * Reads addresses and keys from devices, anew for each attempt: the old key is out of use as soon as
 * a new one was issued (rules A6, A18). Only reads that begin within one turn of the event loop
 * are one read.
 */
export function createDestinations(channel: Channel): Destinations {
  const applications = createClient(ApplicationsService, channel, { deadlineMs });
  const thisTurn = new Map<string, Promise<DestinationAddress | undefined>>();

  const read: Destinations['get'] = async (applicationId, setting) => {
    try {
      const { url, authenticationKey } = await applications.getDestination({ applicationId, setting });
      if (url === '' || authenticationKey === '' || !URL.canParse(url)) return undefined;
      return { url: new URL(url), authenticationKey };
    } catch (error) {
      // An application that is gone has no destination either.
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      throw error;
    }
  };

  return {
    get(applicationId, setting) {
      const key = `${applicationId}/${setting}`;
      let reading = thisTurn.get(key);
      if (!reading) {
        if (thisTurn.size === 0) setImmediate(() => thisTurn.clear());
        reading = read(applicationId, setting);
        thisTurn.set(key, reading);
      }
      return reading;
    },
  };
}

import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import { connectionOf, latestReservationEndMs, reservationOf, withPlausibleEnds } from '../domain/places.ts';
import type { Endpoint, EndpointStore } from '../ports/endpoint-store.ts';
import type { EndpointDocument, SettingsDocument } from './documents.ts';

const settingsId = 'default';

export function createEndpointStore(
  endpoints: StoreCollection<EndpointDocument>,
  settings: StoreCollection<SettingsDocument>,
  { clock, reservationMs }: { readonly clock: Clock; readonly reservationMs: number },
): EndpointStore {
  return {
    async put({ endpointId, ...endpoint }, secretHash, record) {
      if (secretHash === undefined) {
        const { matchedCount } = await endpoints.updateOne(
          { _id: endpointId },
          withAuditRecord<EndpointDocument>({ $set: { ...endpoint, enabled: true } }, record),
        );
        return matchedCount === 1 ? 'put' : 'secret_missing';
      }
      await endpoints.updateOne(
        { _id: endpointId },
        withAuditRecord<EndpointDocument>(
          { $set: { ...endpoint, secretHash, enabled: true }, $setOnInsert: { places: [] } },
          record,
        ),
        { upsert: true },
      );
      return 'put';
    },

    async remove(endpointId, record) {
      const removed = withAuditRecord<EndpointDocument>({ $set: { enabled: false } }, record);
      const { matchedCount } = await endpoints.updateOne({ _id: endpointId }, removed);
      return matchedCount === 1;
    },

    async enabled() {
      const found = await endpoints.find({ enabled: true }, { sort: { _id: 1 } }).toArray();
      const latestMs = latestReservationEndMs(clock.now(), reservationMs);
      return found.map((document) => ({
        ...endpointOf(document),
        places: withPlausibleEnds(document.places, latestMs),
      }));
    },

    async get(endpointId) {
      const found = await endpoints.findOne({ _id: endpointId }, { projection: { places: 0 } });
      return found ? endpointOf(found) : undefined;
    },

    async secretHash(endpointId) {
      const found = await endpoints.findOne({ _id: endpointId }, { projection: { secretHash: 1 } });
      return found?.secretHash;
    },

    async defaultVersion() {
      return (await settings.findOne({ _id: settingsId }))?.soraVersion;
    },

    async setDefaultVersion(soraVersion, record) {
      const set = withAuditRecord<SettingsDocument>({ $set: { soraVersion } }, record);
      await settings.updateOne({ _id: settingsId }, set, { upsert: true });
    },

    async clear(endpointId, nowMs) {
      await endpoints.updateOne({ _id: endpointId }, { $pull: { places: { untilMs: { $lte: nowMs } } } });
      const implausible = {
        id: { $gte: 'r:', $lt: 's' },
        untilMs: { $gt: latestReservationEndMs(nowMs, reservationMs) },
      };
      await endpoints.updateOne(
        { _id: endpointId, 'places.untilMs': implausible.untilMs },
        { $pull: { places: implausible } },
      );
    },

    async take({ endpointId, connectionLimit, places: seen }, places) {
      if (seen.length + places.length > connectionLimit) return false;
      const { matchedCount } = await endpoints.updateOne(
        // Matches only if the endpoint has not more places than when it was read. With more places the limit could be
        // exceeded, and another endpoint might have fewer taken places.
        { _id: endpointId, enabled: true, connectionLimit, [`places.${seen.length}`]: { $exists: false } },
        { $push: { places: { $each: [...places] } } },
      );
      return matchedCount === 1;
    },

    async occupy(endpointId, channelId, connectionId, untilMs) {
      const id = connectionOf(connectionId);
      // Tried twice, because another event of the connection may take the place between the steps.
      for (let round = 0; round < 2; round += 1) {
        const renewed = await endpoints.updateOne(
          { _id: endpointId, 'places.id': id },
          { $max: { 'places.$.untilMs': untilMs } },
        );
        if (renewed.matchedCount === 1) return;
        const takenOver = await endpoints.updateOne(
          { _id: endpointId, 'places.id': reservationOf(channelId) },
          { $set: { 'places.$': { id, untilMs } } },
        );
        if (takenOver.matchedCount === 1) return;
        const taken = await endpoints.updateOne(
          { _id: endpointId, 'places.id': { $ne: id } },
          { $push: { places: { id, untilMs } } },
        );
        if (taken.matchedCount === 1) return;
      }
    },

    async free(endpointId, placeId) {
      await endpoints.updateOne({ _id: endpointId }, { $pull: { places: { id: placeId } } });
    },
  };
}

function endpointOf(document: Omit<WithId<EndpointDocument>, 'places'>): Endpoint {
  const { signalingUrl, soraVersion, connectionLimit, archiveUrl } = document;
  return { endpointId: document._id, signalingUrl, soraVersion, connectionLimit, archiveUrl };
}

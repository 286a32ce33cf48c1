import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { DeveloperStore } from '../ports/developer-store.ts';
import type { DeveloperClientDocument, DeveloperDocument } from './documents.ts';

export function createDeveloperStore(
  developers: StoreCollection<DeveloperDocument>,
  clients: StoreCollection<DeveloperClientDocument>,
): DeveloperStore {
  return {
    async developerOfClient(clientId) {
      return (await clients.findOne({ _id: clientId }))?.developerId;
    },

    async exists(developerId) {
      return (await developers.findOne({ _id: developerId })) !== null;
    },

    async list() {
      const [all, owned] = await Promise.all([
        developers.find({}, { sort: { _id: 1 } }).toArray(),
        clients.find({}, { sort: { _id: 1 } }).toArray(),
      ]);
      const clientIds = Map.groupBy(owned, (client) => client.developerId);
      return all.map(({ _id, name }) => ({
        developerId: _id,
        name,
        clientIds: (clientIds.get(_id) ?? []).map((client) => client._id),
      }));
    },

    // After a crash, only some of the clients may be stored. The operator repeats the command, which stores all.
    async put({ developerId, name, clientIds }, record) {
      const known = await clients.find({ _id: { $in: [...clientIds] } }).toArray();
      const taken = known.find((client) => client.developerId !== developerId);
      if (taken) return { takenClientId: taken._id };
      await developers.updateOne(
        { _id: developerId },
        withAuditRecord<DeveloperDocument>({ $set: { name } }, record),
        {
          upsert: true,
        },
      );
      for (const clientId of clientIds) {
        try {
          await clients.updateOne(
            { _id: clientId, developerId },
            { $set: { developerId } },
            { upsert: true },
          );
        } catch (error) {
          if (isDuplicateKey(error)) return { takenClientId: clientId };
          throw error;
        }
      }
      await clients.deleteMany({ developerId, _id: { $nin: [...clientIds] } });
      return undefined;
    },
  };
}

import {
  hasSpaceForRecord,
  pendingAuditFields,
  tooMuchPending,
  withAuditRecord,
} from '@headset-cloud/rules/audit/record.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import { coalescedReader } from '@headset-cloud/store/coalesced.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ApplicationSettings } from '../domain/settings.ts';
import type { ApplicationStore } from '../ports/application-store.ts';
import type { ApplicationDocument } from './documents.ts';
import { openText, purposes, sealText } from './sealed-text.ts';

const recentChanges = 32;
/** Part of a filter: no change restores a forgotten application (ADR 0047). */
const notForgotten: Filter<ApplicationDocument> = { forgottenAtMs: { $exists: false } };

export function createApplicationStore(
  applications: StoreCollection<ApplicationDocument>,
  secrets: SecretBox,
): ApplicationStore {
  type SettingsFields = Pick<ApplicationDocument, '_id' | 'settings' | 'authenticationKey'>;
  function opened({ _id, settings, authenticationKey }: SettingsFields): ApplicationSettings {
    if (authenticationKey === undefined) return settings;
    const purpose = purposes.authenticationKey(_id);
    return { ...settings, authenticationKey: openText(secrets, authenticationKey, purpose) };
  }
  const settingsFields = { settings: 1, authenticationKey: 1 } as const;
  const named = ({ _id, developerId, name }: ApplicationDocument) => ({
    applicationId: _id,
    developerId,
    name,
  });

  const destinationFields = coalescedReader(applications, {
    'settings.deviceEvent': 1,
    authenticationKey: 1,
    forgottenAtMs: 1,
  });

  async function settings(applicationId: string): Promise<ApplicationSettings | undefined> {
    const found = await applications.findOne(
      { _id: applicationId, ...notForgotten },
      { projection: settingsFields },
    );
    return found ? opened(found) : undefined;
  }

  return {
    async get(applicationId) {
      const found = await applications.findOne(
        { _id: applicationId, ...notForgotten },
        { projection: { developerId: 1, name: 1 } },
      );
      return found ? named(found) : undefined;
    },

    async list(developerId) {
      const found = await applications
        .find(
          { ...(developerId !== undefined && { developerId }), ...notForgotten },
          { sort: { _id: 1 }, projection: { developerId: 1, name: 1 } },
        )
        .toArray();
      return found.map(named);
    },

    async create({ applicationId, developerId, name }, nowMs, record) {
      try {
        await applications.insertOne({
          _id: applicationId,
          developerId,
          name,
          settings: {},
          recentChanges: [],
          createdAt: new Date(nowMs),
          ...pendingAuditFields(record),
        });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },

    settings,

    async destination(applicationId) {
      const found = await destinationFields(applicationId);
      if (!found || found.forgottenAtMs !== undefined) return undefined;
      return {
        deviceEvent: found.settings?.deviceEvent !== undefined,
        authenticationKey: found.authenticationKey !== undefined,
      };
    },

    async change(applicationId, { changeId, set, remove }, record) {
      const { authenticationKey, ...endpoints } = set;
      const values = Object.fromEntries(
        Object.entries(endpoints).map(([name, url]) => [`settings.${name}`, url]),
      );
      if (authenticationKey !== undefined) {
        const purpose = purposes.authenticationKey(applicationId);
        values['authenticationKey'] = sealText(secrets, authenticationKey, purpose);
      }
      const removed = Object.fromEntries(remove.map((name) => [`settings.${name}`, '']));
      const changed = await applications.findOneAndUpdate(
        { _id: applicationId, recentChanges: { $ne: changeId }, ...notForgotten, ...hasSpaceForRecord },
        withAuditRecord(
          {
            ...(Object.keys(values).length > 0 && { $set: values }),
            ...(remove.length > 0 && { $unset: removed }),
            $push: { recentChanges: { $each: [changeId], $slice: -recentChanges } },
          } as Update<ApplicationDocument>,
          record,
        ),
        { returnDocument: 'after', projection: settingsFields },
      );
      if (changed) return opened(changed);
      const unchanged = { _id: applicationId, recentChanges: { $ne: changeId }, ...notForgotten };
      if (await applications.findOne(unchanged, { projection: { _id: 1 } })) throw tooMuchPending();
      return settings(applicationId);
    },
  };
}

import { hasSpaceForRecord, withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { forgetAtOnce } from '@headset-cloud/rules/forget/request.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { ApplicationForgetStore } from '../ports/application-forget-store.ts';
import type {
  ApplicationDocument,
  ContractDeviceDocument,
  ContractDocument,
  DeviceDocument,
} from './documents.ts';

/**
 * Counts and removes the data of an application in this service. The empty documents of the application and of its
 * contract are kept, so that the id can never be used again and no device can be activated.
 */
export function createApplicationForgetStore(of: {
  readonly applications: StoreCollection<ApplicationDocument>;
  readonly contracts: StoreCollection<ContractDocument>;
  readonly contractDevices: StoreCollection<ContractDeviceDocument>;
  readonly devices: StoreCollection<DeviceDocument>;
}): ApplicationForgetStore {
  const { applications, contracts, contractDevices, devices } = of;
  const limit =
    contractDevices.batchesAtOnce === undefined ? forgetAtOnce.overNetwork : forgetAtOnce.inProcess;

  /**
   * True if work of activations is pending. Reads only the few devices with pending work, by the index of due times.
   */
  async function isUnsettled(applicationId: string): Promise<boolean> {
    const found = await Promise.all(
      ['pending', 'undo', 'lifecycle'].map((work) =>
        devices.findOne(
          { dueAtMs: { $gt: 0 }, [`${work}.applicationId`]: applicationId },
          { projection: { _id: 1 } },
        ),
      ),
    );
    return found.some((one) => one !== null);
  }

  return {
    async traces(applicationId) {
      const found = await applications.findOne({ _id: applicationId });
      if (!found) return undefined;
      // Reads the contract before the devices: an activation that the reads below miss changes `contract.changes`, so
      // that `forget` fails.
      const contract = await contracts.findOne({ _id: applicationId });
      const activated = await devices.countDocuments({ 'activation.applicationId': applicationId });
      const unsettled = await isUnsettled(applicationId);
      return {
        settings: Object.keys(found.settings).length,
        authenticationKeys: found.authenticationKey === undefined ? 0 : 1,
        names: found.forgottenAtMs === undefined ? 1 : 0,
        contracts: contract && (contract.activationLimit > 0 || contract.limits) ? 1 : 0,
        activated,
        unsettled,
        ...(contract && { contractChanges: contract.changes }),
        ...(found.forgetRun !== undefined && { run: found.forgetRun }),
      };
    },

    async forget(applicationId, { contractChanges, run, nowMs }, record) {
      if (contractChanges !== undefined) {
        const unchanged: Filter<ContractDocument> = { _id: applicationId, changes: contractChanges };
        const emptied: Update<ContractDocument> = {
          $set: { activationLimit: 0, freeSlots: 0, closed: true },
          $unset: { limits: '' },
          $inc: { changes: 1 },
        };
        // The same audit record as in the application's document. The log stores the record once.
        const update = withAuditRecord<ContractDocument>(emptied, record);
        const { matchedCount } = await contracts.updateOne({ ...unchanged, ...hasSpaceForRecord }, update);
        if (matchedCount === 0) return false;
      }
      const forgotten = withAuditRecord<ApplicationDocument>(
        {
          $set: { settings: {}, name: '', recentChanges: [], forgetRun: run },
          $min: { forgottenAtMs: nowMs },
          // Without `developerId`, processes of an earlier version also find no developer that owns the application.
          $unset: { authenticationKey: '', developerId: '' },
        },
        record,
      );
      const { matchedCount } = await applications.updateOne(
        { _id: applicationId, ...hasSpaceForRecord },
        forgotten,
      );
      return matchedCount === 1;
    },

    countNamed: (applicationId) => contractDevices.countDocuments({ applicationId }),

    async removeNamed(applicationId) {
      const found = await contractDevices
        .find({ applicationId }, { sort: { deviceId: 1 }, limit, projection: { _id: 1 } })
        .toArray();
      const { deletedCount } = await contractDevices.deleteMany({
        _id: { $in: found.map(({ _id }) => _id) },
      });
      return { removed: deletedCount, more: found.length === limit };
    },
  };
}

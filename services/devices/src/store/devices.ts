import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { coalescedReader } from '@headset-cloud/store/coalesced.ts';
import type { BulkOperation, Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import type { Associations } from '../domain/association.ts';
import type { Activation } from '../domain/device.ts';
import { type Moment, presenceOf, readableSince, reportedVersions } from '../domain/reported.ts';
import type { DeviceReader, DeviceWithReport } from '../ports/device-reader.ts';
import type { DeviceRegistry } from '../ports/device-registry.ts';
import type { DeviceReports, ReportStore } from '../ports/report-store.ts';
import type { DeviceDocument, StoredActivation } from './documents.ts';
import { notForgotten } from './forget.ts';

const reportFields = {
  'activation.applicationId': 1,
  'activation.clientId': 1,
  'activation.epoch': 1,
  'activation.sinceEpoch': 1,
  'activation.sinceMs': 1,
  reported: 1,
} as const;

/** Fields that filters of device statuses read: all except the large list of installed apps. */
const filterFields = {
  'activation.applicationId': 1,
  'activation.clientId': 1,
  'activation.epoch': 1,
  'activation.sinceEpoch': 1,
  'activation.sinceMs': 1,
  'reported.battery': 1,
  'reported.introduction.sessionEpoch': 1,
  'reported.introduction.atMs': 1,
  'reported.introduction.clientVersion': 1,
  'reported.introducedEpoch': 1,
  'reported.offline': 1,
} as const;

const associationFields = {
  epoch: 1,
  'activation.applicationId': 1,
  'activation.epoch': 1,
  'activation.sinceEpoch': 1,
  'activation.sinceMs': 1,
  'activation.before': 1,
  past: 1,
} as const;

/** Fields from which the current firmware version is determined. */
const softwareFields = {
  'reported.introduction.firmwareVersion': 1,
  'reported.introduction.sessionEpoch': 1,
  'reported.introduction.lastReportId': 1,
  'reported.introduction.atMs': 1,
  'reported.inventory.firmwareVersion': 1,
  'reported.inventory.sessionEpoch': 1,
  'reported.inventory.reportId': 1,
  'reported.inventory.atMs': 1,
  'reported.inventory.epoch': 1,
} as const;

const knownDeviceFields = {
  ...associationFields,
  'reported.introduction.sessionEpoch': 1,
  'reported.introduction.atMs': 1,
  'reported.offline': 1,
} as const;

const hardwareFields = {
  'activation.applicationId': 1,
  specificDestination: 1,
  'reported.introduction.modelIdentifier': 1,
  'reported.introduction.macAddressWifi': 1,
  'reported.introduction.macAddressBluetooth': 1,
} as const;

export function createDeviceReader(devices: StoreCollection<DeviceDocument>): DeviceReader {
  const readSnapshot = coalescedReader(devices, {
    'activation.applicationId': 1,
    'activation.epoch': 1,
    'activation.sinceEpoch': 1,
    'reported.introduction.clientVersion': 1,
    ...softwareFields,
    'reported.introducedEpoch': 1,
    'pending.kind': 1,
  });
  // Read in batches, because after a restart thousands of headsets connect at the same time.
  const keysAndActivation = coalescedReader(devices, {
    keys: 1,
    epoch: 1,
    lastTransactionId: 1,
    activation: 1,
  });
  const association = coalescedReader(devices, associationFields);
  return {
    async activationSnapshot(deviceId) {
      const found = await readSnapshot(deviceId);
      if (!found?.activation) return undefined;
      const { applicationId, epoch } = found.activation;
      const reported = found.reported ?? {};
      const readable = reportedVersions(readableSince(reported, since(found.activation)));
      return {
        applicationId,
        epoch,
        versions: {
          ...reportedVersions(reported),
          ...(readable.firmware && { firmware: readable.firmware }),
        },
        readable,
        unsettled: found.pending.length > 0,
      };
    },
    async withReport(deviceId) {
      const found = await devices.findOne({ _id: deviceId }, { projection: reportFields });
      return found ? withReport(found) : undefined;
    },
    async currentActivation(deviceId) {
      const found = await keysAndActivation(deviceId);
      if (!found) return undefined;
      const { epoch, lastTransactionId, activation } = found;
      const sinceEpoch = activation && since(activation);
      return {
        epoch,
        lastTransactionId,
        ...(activation && { activation: { ...activation, sinceEpoch } as Activation }),
      };
    },
    async activatedBy(applicationId, afterDeviceId, limit) {
      const found = await devices
        .find(
          { 'activation.applicationId': applicationId, _id: { $gt: afterDeviceId } },
          { sort: { _id: 1 }, limit, projection: reportFields },
        )
        .toArray();
      return found.map(withReport);
    },
    async filterable(applicationId, afterDeviceId, limit) {
      const found = await devices
        .find(
          { 'activation.applicationId': applicationId, _id: { $gt: afterDeviceId } },
          { sort: { _id: 1 }, limit, projection: filterFields },
        )
        .toArray();
      return found.map(withReport);
    },
    async activatedAmong(applicationId, deviceIds) {
      const found = await devices
        .find(
          { 'activation.applicationId': applicationId, _id: { $in: [...deviceIds] } },
          { sort: { _id: 1 }, limit: deviceIds.length, projection: reportFields },
        )
        .toArray();
      return found.map(withReport);
    },
    async keys(deviceId) {
      return (await keysAndActivation(deviceId))?.keys ?? [];
    },
    async associations(deviceId) {
      const found = await association(deviceId);
      return found && associations(found);
    },
    async knownDevices(deviceIds) {
      const found = await devices
        .find({ _id: { $in: [...deviceIds] } }, { projection: knownDeviceFields })
        .toArray();
      return new Map(
        found.map((one) => [one._id, { ...associations(one), presence: presenceOf(one.reported ?? {}) }]),
      );
    },
    async hardware(deviceId) {
      const found = await devices.findOne({ _id: deviceId }, { projection: hardwareFields });
      if (!found) return undefined;
      const { activation, specificDestination, reported } = found;
      const { modelIdentifier, macAddressWifi, macAddressBluetooth } = reported?.introduction ?? {};
      return {
        ...(activation && { applicationId: activation.applicationId }),
        ...(specificDestination && { specificDestination }),
        ...(modelIdentifier && { modelIdentifier }),
        ...(macAddressWifi && { macAddressWifi }),
        ...(macAddressBluetooth && { macAddressBluetooth }),
      };
    },
  };
}

function since({ epoch, sinceEpoch }: StoredActivation): number {
  return sinceEpoch ?? epoch;
}

function withReport({ _id, activation, reported }: WithId<DeviceDocument>): DeviceWithReport {
  return {
    deviceId: _id,
    ...(activation && { activation: { ...activation, sinceEpoch: since(activation) } }),
    reported: reported ?? {},
  };
}

function associations({ epoch, activation, past }: WithId<DeviceDocument>): Associations {
  return {
    epoch,
    ...(activation && {
      current: {
        applicationId: activation.applicationId,
        sinceEpoch: since(activation),
        ...(activation.sinceMs !== undefined && { sinceMs: activation.sinceMs }),
        ...(activation.before && { before: activation.before }),
      },
    }),
    past: past ?? [],
  };
}

export function createReportStore(devices: StoreCollection<DeviceDocument>): ReportStore {
  return {
    async store(reports) {
      const operations = reports.flatMap(reportOperations);
      if (operations.length > 0) await devices.bulkWrite(operations, { ordered: false });
    },
  };
}

/**
 * Filter: the epoch belongs to the current activation. A location is stored only with this filter, so that a location
 * that was deleted at the end of an activation is not stored again (ADR 0045).
 */
function whileActivated(epoch: number): Filter<DeviceDocument> {
  return {
    $and: [
      { 'activation.epoch': { $exists: true } },
      {
        $or: [{ 'activation.sinceEpoch': { $lte: epoch } }, { 'activation.sinceEpoch': { $exists: false } }],
      },
    ],
  };
}

/**
 * One conditional update for each field, so that the newest report is stored, whatever the order of arrival. Activation
 * epochs and report ids only rise. A report with an epoch above the device's epoch is an error of the headset and is
 * ignored.
 */
function reportOperations(report: DeviceReports): BulkOperation<DeviceDocument>[] {
  const update = (
    filter: Filter<DeviceDocument>,
    changed: Update<DeviceDocument>,
  ): BulkOperation<DeviceDocument> => ({
    updateOne: { filter: { _id: report.deviceId, ...notForgotten, ...filter }, update: changed },
  });
  const newest = (name: string, moment: Moment) => {
    const path = `reported.${name}`;
    return update(
      {
        epoch: { $gte: moment.epoch },
        ...(name === 'location' && whileActivated(moment.epoch)),
        // Both conditions also match if there is no value.
        $or: [
          { [`${path}.epoch`]: { $not: { $gte: moment.epoch } } },
          { [`${path}.epoch`]: moment.epoch, [`${path}.reportId`]: { $not: { $gt: moment.reportId } } },
        ],
      },
      { $set: { [path]: moment } },
    );
  };
  const { fields, introduction, introducedEpoch, inventory, offline } = report;
  const operations = Object.entries(fields).map(([name, dated]: [string, Moment]) => newest(name, dated));
  if (inventory) operations.push(newest('inventory', inventory));
  if (offline) {
    const older = { 'reported.offline.sessionEpoch': { $not: { $gte: offline.sessionEpoch } } };
    operations.push(update(older, { $set: { 'reported.offline': offline } }));
  }
  if (introduction) {
    const { sessionEpoch } = introduction;
    const { read = 0, claimed = 0 } = introducedEpoch ?? {};
    operations.push(
      update(
        { 'reported.introduction.sessionEpoch': { $not: { $gt: sessionEpoch } } },
        { $set: { 'reported.introduction': introduction }, $max: { 'reported.introducedEpoch': read } },
      ),
    );
    if (claimed > 0) {
      operations.push(
        update({ epoch: { $gte: claimed } }, { $max: { 'reported.introducedEpoch': claimed } }),
      );
    }
  }
  return operations;
}

/** `epochsAbove` returns the initial epoch of a new device: 0, or higher after a restore from a backup (ADR 0035). */
export function createDeviceRegistry(
  devices: StoreCollection<DeviceDocument>,
  epochsAbove: () => Promise<number> = async () => 0,
): DeviceRegistry {
  const registered = ({ _id, keys, activation, reported, specificDestination }: WithId<DeviceDocument>) => ({
    deviceId: _id,
    keyIds: keys.map((key) => key.keyId),
    ...(activation && { applicationId: activation.applicationId }),
    ...(specificDestination && { specificDestination }),
    clientVersion: reported?.introduction?.clientVersion ?? '',
  });
  const newDevice = async () => ({
    keys: [],
    // The headset may remember a higher epoch, of an activation that is missing in the restored database.
    epoch: await epochsAbove(),
    lastTransactionId: 0,
    recent: [],
    pending: [],
    lifecycle: [],
    reported: {},
  });
  const registryFields = { keys: 1, 'activation.applicationId': 1, specificDestination: 1 } as const;
  return {
    async register(deviceIds) {
      if (deviceIds.length === 0) return;
      const $setOnInsert = await newDevice();
      await devices.bulkWrite(
        deviceIds.map((_id) => ({ updateOne: { filter: { _id }, update: { $setOnInsert }, upsert: true } })),
        { ordered: false },
      );
    },
    async put(deviceId, text, record) {
      const change: Update<DeviceDocument> =
        text === undefined
          ? {}
          : text === ''
            ? { $unset: { specificDestination: '' } }
            : { $set: { specificDestination: text } };
      const update = withAuditRecord<DeviceDocument>({ ...change, $setOnInsert: await newDevice() }, record);
      await devices.updateOne({ _id: deviceId }, update, { upsert: true });
    },
    async get(deviceId) {
      const found = await devices.findOne(
        { _id: deviceId },
        { projection: { ...registryFields, reported: 1 } },
      );
      return found ? { ...registered(found), reported: found.reported } : undefined;
    },
    async list(afterDeviceId, limit) {
      const projection = { ...registryFields, 'reported.introduction.clientVersion': 1 } as const;
      const found = await devices
        .find({ _id: { $gt: afterDeviceId } }, { sort: { _id: 1 }, limit, projection })
        .toArray();
      return found.map(registered);
    },
  };
}

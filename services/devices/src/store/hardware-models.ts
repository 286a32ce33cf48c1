import { withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import type { HardwareModel } from '../domain/hardware.ts';
import type { HardwareModelStore } from '../ports/hardware-model-store.ts';
import type { HardwareModelDocument } from './documents.ts';

export function createHardwareModelStore(models: StoreCollection<HardwareModelDocument>): HardwareModelStore {
  const model = ({
    _id,
    audit: _,
    auditAtMs: __,
    ...rest
  }: WithId<HardwareModelDocument>): HardwareModel => ({
    identifier: _id,
    ...rest,
  });
  return {
    async find(identifier) {
      const found = await models.findOne({ _id: identifier });
      return found ? model(found) : undefined;
    },
    async list() {
      return (await models.find({}, { sort: { _id: 1 } }).toArray()).map(model);
    },
    async put({ identifier, name, description, shape, cameras }, record) {
      await models.updateOne(
        { _id: identifier },
        withAuditRecord<HardwareModelDocument>(
          { $set: { name, description, shape, cameras: [...cameras] } },
          record,
        ),
        { upsert: true },
      );
    },
  };
}

import { namesOf } from '@headset-cloud/rules/audit/record.ts';
import { type HardwareModel, requireHardwareModel } from '../domain/hardware.ts';
import type { AdminDependencies, AdminHandlers } from './dependencies.ts';

/** The hardware models that operators register, for the hardware properties. */
export function hardwareModelHandlers({
  hardwareModels,
  audit,
}: AdminDependencies): Pick<AdminHandlers, 'putHardwareModel' | 'listHardwareModels'> {
  const message = (model: HardwareModel) => ({ ...model, cameras: [...model.cameras] });
  return {
    async putHardwareModel({ model: entered }) {
      const model = requireHardwareModel(entered);
      const { identifier: target, ...rest } = model;
      await audit.change({ target, fields: namesOf(rest) }, (record) => hardwareModels.put(model, record));
      return { model: message(model) };
    },
    async listHardwareModels() {
      return { models: (await hardwareModels.list()).map(message) };
    },
  };
}

import { DomainError } from '@headset-cloud/kit/errors.ts';
import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { DevicesAdminService } from '@headset-cloud/proto/headset/devices/v1/admin_pb.ts';
import { applicationHandlers } from './applications.ts';
import { contractHandlers } from './contracts.ts';
import type { AdminDependencies } from './dependencies.ts';
import { developerHandlers } from './developers.ts';
import { deviceHandlers } from './devices.ts';
import { headsetKeyHandlers } from './headset-keys.ts';

const notYet = () => Promise.reject(new DomainError('internal', 'Not built yet.'));

/** The operators' door (decision 17). */
export function adminBindings(deps: AdminDependencies): RpcBinding[] {
  return [
    bind(DevicesAdminService, {
      putHardwareModel: notYet,
      listHardwareModels: notYet,
      ...developerHandlers(deps),
      ...applicationHandlers(deps),
      ...contractHandlers(deps),
      ...deviceHandlers(deps),
      ...headsetKeyHandlers(deps),
    }),
  ];
}

import { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { applicationHandlers } from './applications.ts';
import { contractHandlers } from './contracts.ts';
import type { AdminDependencies } from './dependencies.ts';
import { developerHandlers } from './developers.ts';
import { deviceHandlers } from './devices.ts';
import { applicationForgetHandler, type ForgetApplicationDependencies } from './forget-application.ts';
import { type ForgetDependencies, forgetHandler } from './forget-device.ts';
import { hardwareModelHandlers } from './hardware-models.ts';
import { headsetKeyHandlers } from './headset-keys.ts';

/** The operators' listener (rule C17). */
export function adminBindings(
  deps: AdminDependencies & ForgetDependencies & ForgetApplicationDependencies,
): RpcBinding[] {
  return [
    bind(DevicesAdminService, {
      ...developerHandlers(deps),
      ...applicationHandlers(deps),
      ...contractHandlers(deps),
      ...deviceHandlers(deps),
      ...hardwareModelHandlers(deps),
      ...headsetKeyHandlers(deps),
      ...forgetHandler(deps),
      ...applicationForgetHandler(deps),
    }),
  ];
}

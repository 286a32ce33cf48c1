import { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { AdminDependencies } from './dependencies.ts';
import { listArtifactsHandler } from './list-artifacts.ts';
import { putFirmwareHandler } from './put-firmware.ts';
import { withdrawArtifactHandler } from './withdraw-artifact.ts';

/** The operators' listener (rule C17). */
export function adminBindings(deps: AdminDependencies): RpcBinding[] {
  return [
    bind(UpdatesAdminService, {
      putFirmware: putFirmwareHandler(deps),
      withdrawArtifact: withdrawArtifactHandler(deps),
      listArtifacts: listArtifactsHandler(deps),
    }),
  ];
}

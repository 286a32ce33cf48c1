import { DownloadsService, UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { getDownloadUrlHandler } from './get-download-url.ts';
import { listAppsHandler } from './list-apps.ts';
import { listFirmwareHandler } from './list-firmware.ts';
import { requestUploadHandler } from './request-upload.ts';
import { updateAppHandler } from './update-app.ts';
import { updateFirmwareHandler } from './update-firmware.ts';
import { withdrawAppHandler } from './withdraw-app.ts';

/** The gRPC services of updates for other services. */
export function rpcBindings(deps: HandlerDependencies): RpcBinding[] {
  return [
    bind(UpdatesService, {
      requestUpload: requestUploadHandler(deps),
      withdrawApp: withdrawAppHandler(deps),
      listApps: listAppsHandler(deps),
      listFirmware: listFirmwareHandler(deps),
      updateApp: updateAppHandler(deps),
      updateFirmware: updateFirmwareHandler(deps),
    }),
    bind(DownloadsService, { getDownloadUrl: getDownloadUrlHandler(deps) }),
  ];
}

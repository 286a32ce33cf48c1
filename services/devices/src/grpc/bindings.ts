import {
  ApplicationsService,
  DevicesService,
  HeadsetFilesService,
  HeadsetKeysService,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { activateDeviceHandler } from './activate-device.ts';
import { authorizeApplicationHandler } from './authorize-application.ts';
import { authorizeDeveloperHandler } from './authorize-developer.ts';
import { checkHeadsetKeysHandler } from './check-headset-keys.ts';
import { deactivateDeviceHandler } from './deactivate-device.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { findDeviceStatusesHandler } from './find-device-statuses.ts';
import { getActivationHandler } from './get-activation.ts';
import { getAssociationHandler } from './get-association.ts';
import { getCurrentActivationHandler } from './get-current-activation.ts';
import { getDestinationHandler } from './get-destination.ts';
import { getDeviceStatusHandler } from './get-device-status.ts';
import { getHardwarePropertiesHandler } from './get-hardware-properties.ts';
import { getHeadsetKeysHandler } from './get-headset-keys.ts';
import { getSettingsHandler } from './get-settings.ts';
import { getUploadUrlHandler } from './get-upload-url.ts';
import { listDeviceStatusesHandler } from './list-device-statuses.ts';
import { refreshAuthenticationKeyHandler } from './refresh-authentication-key.ts';
import { resetDeviceHandler } from './reset-device.ts';
import { sendOperationHandler } from './send-operation.ts';
import { undoActivationHandler } from './undo-activation.ts';
import { updateSettingsHandler } from './update-settings.ts';

/** The gRPC services of devices for other services. */
export function rpcBindings(deps: HandlerDependencies): RpcBinding[] {
  return [
    bind(ApplicationsService, {
      authorizeApplication: authorizeApplicationHandler(deps),
      authorizeDeveloper: authorizeDeveloperHandler(deps),
      getSettings: getSettingsHandler(deps),
      updateSettings: updateSettingsHandler(deps),
      refreshAuthenticationKey: refreshAuthenticationKeyHandler(deps),
      getDestination: getDestinationHandler(deps),
    }),
    bind(DevicesService, {
      getActivation: getActivationHandler(deps),
      activateDevice: activateDeviceHandler(deps),
      deactivateDevice: deactivateDeviceHandler(deps),
      undoActivation: undoActivationHandler(deps),
      sendOperation: sendOperationHandler(deps),
      resetDevice: resetDeviceHandler(deps),
      getHardwareProperties: getHardwarePropertiesHandler(deps),
      getAssociation: getAssociationHandler(deps),
      getDeviceStatus: getDeviceStatusHandler(deps),
      listDeviceStatuses: listDeviceStatusesHandler(deps),
      findDeviceStatuses: findDeviceStatusesHandler(deps),
    }),
    bind(HeadsetFilesService, { getUploadUrl: getUploadUrlHandler(deps) }),
    bind(HeadsetKeysService, {
      checkHeadsetKeys: checkHeadsetKeysHandler(deps),
      getHeadsetKeys: getHeadsetKeysHandler(deps),
      getCurrentActivation: getCurrentActivationHandler(deps),
    }),
  ];
}

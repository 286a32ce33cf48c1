/**
 * Calls with and without audit records (ADR 0044). Every call by an integrator's request or an operator is listed in one
 * of the three tables, unless its name shows that it only reads.
 */

/** Calls whose handlers store a record; by the file with the handler. */
export const recorded: Readonly<Record<string, string>> = {
  'headset.devices.v1.ApplicationsService/UpdateSettings': 'devices/src/grpc/update-settings.ts',
  'headset.devices.v1.ApplicationsService/RefreshAuthenticationKey':
    'devices/src/grpc/refresh-authentication-key.ts',
  'headset.devices.v1.DevicesService/ActivateDevice': 'devices/src/grpc/activate-device.ts',
  'headset.devices.v1.DevicesService/DeactivateDevice': 'devices/src/grpc/deactivate-device.ts',
  'headset.devices.v1.DevicesService/ResetDevice': 'devices/src/grpc/reset-device.ts',
  'headset.devices.v1.DevicesAdminService/PutDeveloper': 'devices/src/admin/developers.ts',
  'headset.devices.v1.DevicesAdminService/CreateApplication': 'devices/src/admin/applications.ts',
  'headset.devices.v1.DevicesAdminService/PutContract': 'devices/src/admin/contracts.ts',
  'headset.devices.v1.DevicesAdminService/PutDevice': 'devices/src/admin/devices.ts',
  'headset.devices.v1.DevicesAdminService/PutHardwareModel': 'devices/src/admin/hardware-models.ts',
  'headset.devices.v1.DevicesAdminService/AddHeadsetKey': 'devices/src/admin/headset-keys.ts',
  'headset.devices.v1.DevicesAdminService/RemoveHeadsetKey': 'devices/src/admin/headset-keys.ts',
  'headset.devices.v1.DevicesAdminService/RemoveAllHeadsetKeys': 'devices/src/admin/headset-keys.ts',
  'headset.devices.v1.DevicesAdminService/ForgetDevice': 'devices/src/admin/forget-device.ts',
  'headset.transactions.v1.TransactionsAdminService/ForgetDevice': 'transactions/src/admin/forget-device.ts',
  'headset.notifier.v1.NotifierAdminService/ForgetDevice': 'notifier/src/admin/forget-device.ts',
  'headset.communication.v1.CommunicationAdminService/ForgetDevice':
    'communication/src/admin/forget-device.ts',
  'headset.devices.v1.DevicesAdminService/ForgetApplication': 'devices/src/admin/forget-application.ts',
  'headset.transactions.v1.TransactionsAdminService/ForgetApplication':
    'transactions/src/admin/forget-application.ts',
  'headset.notifier.v1.NotifierAdminService/ForgetApplication': 'notifier/src/admin/forget-application.ts',
  'headset.communication.v1.CommunicationAdminService/ForgetApplication':
    'communication/src/admin/forget-application.ts',
  'headset.updates.v1.UpdatesService/WithdrawApp': 'updates/src/grpc/withdraw-app.ts',
  'headset.updates.v1.UpdatesAdminService/PutFirmware': 'updates/src/admin/put-firmware.ts',
  'headset.updates.v1.UpdatesAdminService/WithdrawArtifact': 'updates/src/admin/withdraw-artifact.ts',
  'headset.communication.v1.CommunicationAdminService/PutEndpoint': 'communication/src/admin/admin.ts',
  'headset.communication.v1.CommunicationAdminService/RemoveEndpoint': 'communication/src/admin/admin.ts',
  'headset.communication.v1.CommunicationAdminService/SetDefaultVersion': 'communication/src/admin/admin.ts',
  'headset.notifier.v1.NotifierAdminService/RedeliverDelivery': 'notifier/src/admin/redeliver-delivery.ts',
  'headset.notifier.v1.DeliveriesService/SendAgain': 'notifier/src/grpc/send-again.ts',
  'headset.notifier.v1.DeliveriesService/Recover': 'notifier/src/own/recoveries.ts',
  'headset.billing.v1.BillingAdminService/PutPlans': 'billing/src/admin/plans.ts',
  'headset.billing.v1.BillingAdminService/AddUsage': 'billing/src/admin/usage.ts',
  'headset.eventlog.v1.DeadLettersAdminService/ReplayDeadLetter': 'kit/rules/src/dead-letters/admin.ts',
  'headset.eventlog.v1.DeadLettersAdminService/DiscardDeadLetter': 'kit/rules/src/dead-letters/admin.ts',
  'headset.secrets.v1.SecretsAdminService/LookThroughSecrets': 'kit/rules/src/sealed/admin.ts',
  'headset.secrets.v1.SecretsAdminService/ForgetSecretKey': 'kit/rules/src/sealed/admin.ts',
};

const isOperation =
  "an operation, which its transaction records with its application; it changes no setting of the cloud's";

/** Changing calls of integrators or gateways without a record, with the reason. No call of operators. */
export const notRecorded: Readonly<Record<string, string>> = {
  'headset.devices.v1.DevicesService/SendOperation': isOperation,
  'headset.connectivity.v1.ConnectivityService/ChangeState': isOperation,
  'headset.connectivity.v1.ConnectivityService/ResetConnectivity': isOperation,
  'headset.connectivity.v1.ConnectivityService/AddPairing': isOperation,
  'headset.connectivity.v1.ConnectivityService/ChangePairing': isOperation,
  'headset.connectivity.v1.ConnectivityService/DeletePairing': isOperation,
  'headset.updates.v1.UpdatesService/UpdateApp': isOperation,
  'headset.updates.v1.UpdatesService/UpdateFirmware': isOperation,
  'headset.transactions.v1.TransactionsService/CancelTransactions':
    'each canceled transaction records it with its application, also that of an activation, which is undone (ADR 0063)',
  'headset.updates.v1.UpdatesService/RequestUpload':
    'a package of the integrator: the catalogue keeps each version and its developer',
  'headset.communication.v1.CommunicationService/CreateChannel':
    'a channel exists for hours and has its own document',
  'headset.notifier.v1.TestCallbacksService/SendTestCallback':
    'sends to a registered address of the integrator, and changes nothing in the cloud',
  'headset.gateway.v1.SharesService/TellShares':
    'gateways exchange clients’ usage of limits: nothing is stored',
};

/** A reading call has one of these first words in its name. */
export const reads = /^(Get|List|Show|Find|Read|Authorize)[A-Z]/;

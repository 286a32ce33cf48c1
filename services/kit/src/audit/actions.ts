/**
 * The calls that leave an audit record, as records name them (`actionOf`). One that a later release drops stays here for
 * as long as records of it are kept (BILLING_KEEP_AUDIT_DAYS).
 */
export const auditActions: readonly string[] = [
  'billing.AddUsage',
  'billing.PutPlans',
  'communication.ForgetApplication',
  'communication.ForgetDevice',
  'communication.PutEndpoint',
  'communication.RemoveEndpoint',
  'communication.SetDefaultVersion',
  'devices.ActivateDevice',
  'devices.AddHeadsetKey',
  'devices.CreateApplication',
  'devices.DeactivateDevice',
  'devices.ForgetApplication',
  'devices.ForgetDevice',
  'devices.PutContract',
  'devices.PutDeveloper',
  'devices.PutDevice',
  'devices.PutHardwareModel',
  'devices.RefreshAuthenticationKey',
  'devices.RemoveAllHeadsetKeys',
  'devices.RemoveHeadsetKey',
  'devices.ResetDevice',
  'devices.UpdateSettings',
  'eventlog.DiscardDeadLetter',
  'eventlog.ReplayDeadLetter',
  'notifier.ForgetApplication',
  'notifier.ForgetDevice',
  'notifier.Recover',
  'notifier.RedeliverDelivery',
  'notifier.SendAgain',
  'secrets.ForgetSecretKey',
  'secrets.LookThroughSecrets',
  'transactions.ForgetApplication',
  'transactions.ForgetDevice',
  'updates.PutFirmware',
  'updates.WithdrawApp',
  'updates.WithdrawArtifact',
];

/** True for an action, also without the service's name before it (`UpdateSettings`). */
export function isAuditAction(name: string): boolean {
  return auditActions.some((action) => action === name || action.split('.')[1] === name);
}

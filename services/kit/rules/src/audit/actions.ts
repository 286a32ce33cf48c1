/**
 * The calls that store an audit record, by their names in the records (`actionOf`). The name of a removed call stays in
 * this list until all its records have expired (BILLING_KEEP_AUDIT_DAYS).
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

/** OpenAPI operationId of each call that creates a transaction. The table is independent of the product (ADR 0030). */
export const operations = {
  command: 'put-v1-applications-devices-commands',
  activate: 'post-v1-applications-devices',
  deactivate: 'delete-v1-applications-devices',
  wifi: 'put-v1-applications-devices-settings-wifi',
  languages: 'put-v1-applications-devices-settings-lang',
  launcherKeys: 'put-v1-applications-devices-apps-launcher-keys',
  uninstall: 'delete-v1-applications-devices-package',
  reset: 'put-v1-applications-devices-reset',
  update: 'put-v1-applications-devices-apps',
  connectivityList: 'get-v1-applications-connectivity-list',
  connectivityState: 'get-v1-applications-connectivity-state',
  switchBluetooth: 'put-v1-applications-connectivity-state',
  addPairing: 'post-v1-applications-bluetooth-device',
  deletePairing: 'delete-v1-applications-bluetooth-device',
} as const;

export type OperationKind = keyof typeof operations;

/** Calls of the crash test's integrators. */
export type CallKind = OperationKind | 'cancel' | 'settings' | 'package' | 'channel';

export function isOperation(kind: CallKind): kind is OperationKind {
  return kind in operations;
}

/** Operations whose result has a statusCode instead of a notificationType. */
const connectivity: ReadonlySet<unknown> = new Set([
  operations.connectivityList,
  operations.connectivityState,
  operations.switchBluetooth,
  operations.addPairing,
  operations.deletePairing,
]);

/** End message of a transaction that an integrator canceled (rule A10). */
export const canceledByRequest = 'The transaction was canceled by a cancel request.';

/** End messages of transactions that a deactivation or a reset canceled. */
const deactivationMessages: readonly unknown[] = [
  'The transaction was canceled because it occurred before deactivation.',
  'The transaction was canceled because it occurred before reset.',
];

/** End messages of canceled transactions (specification, error catalogues). */
const cancelMessages: readonly unknown[] = [
  canceledByRequest,
  'The transaction was canceled because the retry limit was exceeded.',
  'The transaction was canceled because there is a new transaction.',
  ...deactivationMessages,
];

// biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
type Body = any;

export type Part = 'accepted' | 'step' | 'end' | 'answer';

/** Returns the type of a transaction's callback, from its body. */
export function partOf(body: Body): Part | undefined {
  if (body.notificationType === 'accepted') return 'accepted';
  if (body.notificationType === 'in_progress')
    return body.operationId === operations.update ? 'step' : undefined;
  if (body.notificationType === 'processed') {
    // A connectivity result has no notificationType; only its cancellation has the general form.
    return connectivity.has(body.operationId) && !isCanceled(body) ? undefined : 'end';
  }
  if (body.process === 'processed') return 'answer';
  return connectivity.has(body.operationId) && Number.isInteger(body.statusCode) ? 'end' : undefined;
}

export function isCanceled(end: Body): boolean {
  return end.result === 'failure' && cancelMessages.includes(end.message);
}

export function isCanceledByDeactivation(end: Body): boolean {
  return isCanceled(end) && deactivationMessages.includes(end.message);
}

export function isSuccess(end: Body): boolean {
  return end?.result === 'success' || end?.statusCode === 200;
}

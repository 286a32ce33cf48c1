import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** What an operation does, by the name of its kind. */
export type OperationKind = NonNullable<Operation['kind']['case']>;

/** Kinds that change the device's activation and have calls of their own. */
export const ownCalls: ReadonlySet<OperationKind> = new Set(['activate', 'deactivate', 'reset']);

const connectivity = '2.3.1';

/** The oldest client that knows an operation (decision 14); absent: every client does. */
export const minimumClientVersions: Readonly<Partial<Record<OperationKind, string>>> = {
  applyLauncherKeys: '2.1.1',
  uninstall: '3.4.0',
  listConnectivity: connectivity,
  readConnectivityState: connectivity,
  setConnectivityState: connectivity,
  resetConnectivity: connectivity,
  addPairing: connectivity,
  changePairing: connectivity,
  deletePairing: connectivity,
};

/** The message of the callback that a command without a target causes (ruling A8). */
const noTarget = 'None of action, package and classpath is given.';

/** The failure that an operation ends in without ever reaching the headset; empty: none. */
export function certainFailure(operation: Operation): string {
  if (operation.kind.case !== 'command') return '';
  const { action, package: packageName, classpath } = operation.kind.value;
  return action || packageName || classpath ? '' : noTarget;
}

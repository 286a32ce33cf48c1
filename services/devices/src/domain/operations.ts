import { isOlder } from '@headset-cloud/kit/version.ts';
import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { refusals } from './refusals.ts';
import type { ReportedVersions } from './reported.ts';

/** What an operation does, by the name of its kind. */
export type OperationKind = NonNullable<Operation['kind']['case']>;

/** Kinds that change the device's activation and have calls of their own. */
export const ownCalls: ReadonlySet<OperationKind> = new Set(['activate', 'deactivate', 'reset']);

/** The oldest client and firmware that know an operation. */
export interface MinimumVersions {
  readonly client: string;
  /** Empty: any. */
  readonly firmware: string;
}

const connectivity: MinimumVersions = { client: '2.3.1', firmware: '9.001.0' };

/** What an operation needs (decision 14, ruling A13); absent: every headset knows it. */
export const minimumVersions: Readonly<Partial<Record<OperationKind, MinimumVersions>>> = {
  applyLauncherKeys: { client: '2.1.1', firmware: '' },
  uninstall: { client: '3.4.0', firmware: '' },
  listConnectivity: connectivity,
  readConnectivityState: connectivity,
  setConnectivityState: connectivity,
  resetConnectivity: connectivity,
  addPairing: connectivity,
  changePairing: connectivity,
  deletePairing: connectivity,
};

/**
 * Throws where a version that is known (not empty) is older than the operation needs. The refusal names
 * it only where the application may read it (ruling A7).
 */
export function requireVersions(
  minimum: MinimumVersions,
  known: { readonly versions: ReportedVersions; readonly readable: ReportedVersions },
): void {
  for (const what of ['client', 'firmware'] as const) {
    const version = known.versions[what];
    if (minimum[what] && version && isOlder(version, minimum[what])) {
      throw refusals.tooOld(what, known.readable[what] || undefined, minimum[what]);
    }
  }
}

/** The message of the callback that a command without a target causes (ruling A8). */
const noTarget = 'None of action, package and classpath is given.';

/** The failure that an operation ends in without ever reaching the headset; empty: none. */
export function certainFailure(operation: Operation): string {
  if (operation.kind.case !== 'command') return '';
  const { action, package: packageName, classpath } = operation.kind.value;
  return action || packageName || classpath ? '' : noTarget;
}

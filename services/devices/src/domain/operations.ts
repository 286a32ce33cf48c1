import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { MinimumVersions } from '@headset-cloud/proto/operations.ts';
import { isOlder } from '@headset-cloud/rules/version.ts';
import { refusals } from './refusals.ts';
import type { ReportedVersions } from './reported.ts';

/**
 * Throws if a known version (not empty) is older than the operation needs. The error names the version only if the
 * application may read it (rule A7).
 */
export function requireVersions(
  minimum: MinimumVersions,
  known: { readonly versions: ReportedVersions; readonly readable: ReportedVersions },
): void {
  for (const part of ['client', 'firmware'] as const) {
    const version = known.versions[part];
    if (minimum[part] && version && isOlder(version, minimum[part])) {
      throw refusals.tooOld(part, known.readable[part] || undefined, minimum[part]);
    }
  }
}

/** Message of the callback for a command without a target (rule A8). */
const noTarget = 'None of action, package and classpath is given.';

/** Message of an operation that fails without being sent to the headset; empty for all other operations. */
export function certainFailure(operation: Operation): string {
  if (operation.kind.case !== 'command') return '';
  const { action, package: packageName, classpath } = operation.kind.value;
  return action || packageName || classpath ? '' : noTarget;
}

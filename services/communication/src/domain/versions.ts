import { compareVersions } from '@headset-cloud/rules/version.ts';

/** Unique versions, newest first. */
export function versionsDescending(versions: readonly string[]): string[] {
  return [...new Set(versions)].sort((a, b) => compareVersions(b, a));
}

/**
 * The version of a channel without a requested version: the configured default if an endpoint has it, otherwise the
 * newest. Undefined if there is no endpoint.
 */
export function defaultVersion(
  versions: readonly string[],
  configured: string | undefined,
): string | undefined {
  return configured !== undefined && versions.includes(configured)
    ? configured
    : versionsDescending(versions)[0];
}

import { compareVersions } from '@headset-cloud/kit/version.ts';

/** Each version once, newest first. */
export function versionsDescending(versions: readonly string[]): string[] {
  return [...new Set(versions)].sort((a, b) => compareVersions(b, a));
}

/**
 * The version a channel gets when none is asked for: the configured one while an endpoint has it, else
 * the newest. Undefined: there is no endpoint.
 */
export function defaultVersion(
  versions: readonly string[],
  configured: string | undefined,
): string | undefined {
  return configured !== undefined && versions.includes(configured)
    ? configured
    : versionsDescending(versions)[0];
}

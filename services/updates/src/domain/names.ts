import { DomainError } from '@headset-cloud/kit/errors.ts';

export const maxPackageLength = 128;
export const maxVersionLength = 128;

/** Android's form: at least two parts, each beginning with a letter. */
const packageForm = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/;
/** Parts between dots; compared by kit/version.ts. */
const versionForm = /^[0-9A-Za-z][0-9A-Za-z._+-]*$/;

/** Throws 400 `invalid_argument` that names the rule. */
export function requirePackage(name: string): void {
  if (name.length > maxPackageLength || !packageForm.test(name)) {
    throw new DomainError(
      'invalid_argument',
      `package must be an Android package name (com.example.app) of at most ${maxPackageLength} characters.`,
    );
  }
}

/** Throws 400 `invalid_argument` that names the rule. */
export function requireVersion(version: string): void {
  if (version.length > maxVersionLength || !versionForm.test(version)) {
    throw new DomainError(
      'invalid_argument',
      `version must be 1 to ${maxVersionLength} letters, digits and . _ + - and begin with a letter or digit.`,
    );
  }
}

/** Specification API 5: the vendor's own packages are not for integrators. */
export function requireUnreserved(name: string, vendorPrefix: string): void {
  if (name.startsWith(vendorPrefix)) {
    throw new DomainError(
      'invalid_argument',
      `package must not start with ${vendorPrefix}, which is reserved.`,
    );
  }
}

/** Specification API 5: at least 1; the upper limit is configuration. */
export function requireSize(sizeBytes: bigint, maxBytes: number): number {
  if (sizeBytes < 1n || sizeBytes > BigInt(maxBytes)) {
    throw new DomainError('invalid_argument', `fileSize must be from 1 to ${maxBytes} bytes.`);
  }
  return Number(sizeBytes);
}

import { DomainError } from '@headset-cloud/runtime/errors.ts';

export const maxPackageLength = 128;
export const maxVersionLength = 128;

/** Android's form: at least two parts, each beginning with a letter. */
const packageForm = /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/;
/** Dots separate the parts of a version. rules/version.ts compares the parts. */
const versionForm = /^[0-9A-Za-z][0-9A-Za-z._+-]*$/;

/** Error 400 for a field of a request's body, by its JSON pointer (rule A4). */
export const invalidBody = (pointer: string, reason: string): DomainError =>
  new DomainError('invalid_body', `${pointer} ${reason}`);

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

/**
 * Specification API 5: integrators must not use the vendor's packages. The package whose name is the prefix without its
 * last dot is reserved, too. Throws 400 `invalid_body`.
 */
export function requireUnreserved(name: string, vendorPrefix: string): void {
  if (`${name}.`.startsWith(vendorPrefix)) {
    throw invalidBody('/package', `must not start with ${vendorPrefix}, which is reserved.`);
  }
}

/** Returns the size if it is from 1 (specification API 5) to `maxBytes` (UPDATES_MAX_BYTES). Throws 400 with `code`. */
export function requireSize(
  sizeBytes: bigint,
  maxBytes: number,
  code: 'invalid_argument' | 'invalid_body',
): number {
  if (sizeBytes < 1n || sizeBytes > BigInt(maxBytes)) {
    const rule = `fileSize must be from 1 to ${maxBytes} bytes.`;
    throw new DomainError(code, code === 'invalid_body' ? `/${rule}` : rule);
  }
  return Number(sizeBytes);
}

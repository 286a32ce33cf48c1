/** Limits of a package's content and unpacked size. They protect the check against packages that try to exhaust it. */
export const bounds = {
  entries: 100_000,
  nameBytes: 1024,
  /** Names, extra fields and comments of all entries. The check keeps them in memory. */
  directoryBytes: 16 * 1024 ** 2,
  manifestBytes: 1024 * 1024,
  signingBlockBytes: 16 * 1024 ** 2,
  /** Sizes of 4 GiB and more need zip64, which Android does not read. */
  entryBytes: 0xffff_ffff - 1,
  unpackedBytes: 8 * 1024 ** 3,
  /** Maximum ratio of unpacked to packed size. It applies above `ratioExemptBytes`. Deflate can reach 1032. */
  ratio: 100,
  ratioExemptBytes: 16 * 1024 ** 2,
};

/** The kind of rule that a rejected upload breaks; for metrics. */
export type BrokenRule =
  | 'size'
  | 'not_whole'
  | 'bounds'
  | 'unsafe'
  | 'manifest'
  | 'not_signed'
  | 'split'
  | 'other_name'
  | 'other_developer';

/** Why an upload is rejected; the reason is for the uploader. */
export interface Rejection {
  readonly rule: BrokenRule;
  readonly reason: string;
}

/** The package breaks a rule. The message is the reason for the uploader. */
export class PackageRejectedError extends Error {
  readonly rule: BrokenRule;
  constructor(rule: BrokenRule, reason: string) {
    super(reason);
    this.rule = rule;
  }
}

/** Makes text from an untrusted file short and printable. */
export function printable(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]+/g, '?');
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean;
}

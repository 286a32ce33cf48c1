/**
 * Names of packages. A name belongs to the developer whose file was accepted first. Before that, an open upload claims
 * the name until the upload expires or its file is rejected.
 */
export interface PackageNames {
  /** The developer that owns the package, or claims it now; undefined: it is free. */
  ownerOf(packageName: string, nowMs: number): Promise<string | undefined>;
  /** Claims the package for an upload that is stored afterwards, if it is free; returns the owner. */
  claim(packageName: string, developerId: string, uploadId: string, nowMs: number): Promise<string>;
  /**
   * Permanently assigns the package to the developer if no other developer owns or claims it. Returns the owner.
   * Repeatable.
   */
  accept(packageName: string, developerId: string, nowMs: number): Promise<string>;
}

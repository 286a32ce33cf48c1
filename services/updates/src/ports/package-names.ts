/**
 * Owners of package names. A name belongs to the developer whose file was accepted first. Before that, an open upload
 * claims the name for its developer until the upload expires or its file is rejected.
 */
export interface PackageNames {
  /** The developer that owns the package, or claims it now; undefined: it is free. */
  ownerOf(packageName: string, nowMs: number): Promise<string | undefined>;
  /** Claims a free package for an upload that is stored afterwards. Returns the owner after the call. */
  claim(packageName: string, developerId: string, uploadId: string, nowMs: number): Promise<string>;
  /**
   * Permanently assigns the package to the developer if no other developer owns or claims it. Returns the owner after
   * the call. Repeatable.
   */
  accept(packageName: string, developerId: string, nowMs: number): Promise<string>;
}

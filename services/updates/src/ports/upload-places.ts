/** Limits of open uploads: of a version all with a valid URL, of a developer only those without an accepted file. */
export interface UploadPlaces {
  /**
   * Reserves a place for an upload that is stored afterwards, unless the limit is reached. The limit also holds for
   * concurrent calls. A place whose upload is not stored within a minute is free again. Repeatable. Returns undefined
   * if the place is reserved.
   */
  take(
    upload: { readonly uploadId: string; readonly artifactId: string; readonly developerId: string },
    most: { readonly ofVersion: number; readonly ofDeveloper: number },
    nowMs: number,
  ): Promise<{ readonly full: 'version' | 'developer'; readonly firstEndMs: number } | undefined>;
}

/**
 * Enforces the limits of open uploads. The limit of a version counts every upload with a valid URL. The limit of a
 * developer counts only uploads without an accepted file.
 */
export interface UploadReservations {
  /**
   * Reserves capacity for an upload that is stored afterwards. Returns undefined if the capacity is reserved. Otherwise
   * returns the limit that is reached, and the time at which the first counted upload ends. The limit also holds for
   * concurrent calls. A reservation ends after a minute if its upload is not stored. Repeatable.
   */
  reserve(
    upload: { readonly uploadId: string; readonly artifactId: string; readonly developerId: string },
    limits: { readonly ofVersion: number; readonly ofDeveloper: number },
    nowMs: number,
  ): Promise<{ readonly full: 'version' | 'developer'; readonly firstEndMs: number } | undefined>;
}

/**
 * Outcome of one upload. `missing`: the archive does not have the file. `refused`: the storage rejects the URL.
 * `forbidden`: the storage's address is not allowed. `failed`: any other failure; the upload may be retried.
 */
export type UploadResult =
  | { readonly outcome: 'stored'; readonly tag: string }
  | { readonly outcome: 'missing' | 'refused' | 'forbidden' | 'failed'; readonly reason: string };

export interface Uploader {
  /** Streams bytes of an archive to a signed URL. Never rejects. */
  upload(
    from: { archiveUrl: string; file: string; offset: number; bytes: number; whole: boolean },
    to: string,
    signal: AbortSignal,
  ): Promise<UploadResult>;
  close(): Promise<void>;
}

/** Outcome of one upload. `refused`: the storage rejects this URL; `forbidden`: its address is not allowed. */
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

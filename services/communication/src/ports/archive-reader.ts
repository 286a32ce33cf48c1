/** The archive server's answer about a file. */
export type ArchiveAnswer = { readonly bytes: number } | 'missing';

export interface ArchiveReader {
  /** Rejects when the server cannot answer now. */
  size(archiveUrl: string, file: string, signal: AbortSignal): Promise<ArchiveAnswer>;
}

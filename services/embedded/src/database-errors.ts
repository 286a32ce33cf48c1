import { MongoError } from 'mongodb';

/**
 * A failure of the embedded database; `message` contains the cause and the remedy. The class extends the driver's
 * error, so callers handle both stacks in the same way (runtime/errors.ts: `database_failed`).
 */
export class EmbeddedDatabaseError extends MongoError {
  override get name(): string {
    return 'MongoEmbeddedDatabaseError';
  }

  constructor(message: string, options?: { cause?: Error }) {
    super(message, options);
  }
}

/** Advice by SQLite's primary result code or the operating system's error code. */
const advice: Readonly<Record<string, string>> = {
  8: 'The file or its disk is read-only: make it writable for this user, or set another data directory.',
  10: 'The disk reported an input/output error: check the disk and its free space; nothing that was acknowledged is affected.',
  11: 'The file is damaged: restore it from a backup, or move it away to start with an empty one.',
  13: 'The disk is full: free some space; writes work again as soon as there is some.',
  14: 'The file cannot be opened: check that the data directory exists and belongs to this user.',
  26: 'The file is not a database: move it away, or set another data directory.',
  EACCES: 'This user may not write there: change the permissions, or set another data directory.',
  EPERM: 'This user may not write there: change the permissions, or set another data directory.',
  EROFS: 'The file system is read-only: set a data directory on one that can be written.',
  ENOSPC: 'The disk is full: free some space.',
  ENOTDIR: 'A part of that path is a file: set another data directory.',
  EEXIST: 'A file has that name: set another data directory.',
};

/** True for an error that SQLite has reported. */
export function isSqliteError(error: unknown): boolean {
  return typeof (error as { errcode?: unknown } | null)?.errcode === 'number';
}

/** Creates an error whose message contains the file, the cause and the remedy. */
export function explainFailure(error: unknown, path: string): EmbeddedDatabaseError {
  if (error instanceof EmbeddedDatabaseError) return error;
  const cause = Error.isError(error) ? error : new Error(String(error));
  const { errcode, code } = cause as { errcode?: number; code?: string };
  const hint = advice[errcode === undefined ? (code ?? '') : String(errcode & 0xff)];
  return new EmbeddedDatabaseError(
    `The embedded database ${path} failed: ${cause.message}.${hint ? ` ${hint}` : ''}`,
    { cause },
  );
}

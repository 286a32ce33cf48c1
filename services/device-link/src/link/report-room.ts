/** What a queued report takes beside its bytes: objects, headers, its place in a publish. */
const overheadBytes = 1024;

/**
 * The room for reports that wait for the log, of all sessions of an instance: while the log is away for long,
 * thousands of sessions may not each keep as much as one may.
 */
export class ReportRoom {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** What is taken; bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A session that has reports in it reads no more for now. One without any may still read one. */
  get full(): boolean {
    return this.#bytes >= this.#most;
  }

  take(bytes: number): void {
    this.#bytes += bytes + overheadBytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes + overheadBytes;
  }
}

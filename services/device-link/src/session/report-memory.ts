/** Memory of a queued report beside its bytes: objects, headers, its entry in a publish. */
const overheadBytes = 1024;

/**
 * Memory budget for the reports of all sessions of an instance that wait for the log. During a long outage of the
 * log, thousands of sessions together would exceed the process's memory with the limit of a session alone.
 */
export class ReportMemory {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Reserved memory; bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True: a session with reports in the queue stops reading. A session without any may still read one. */
  get full(): boolean {
    return this.#bytes >= this.#most;
  }

  reserve(bytes: number): void {
    this.#bytes += bytes + overheadBytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes + overheadBytes;
  }
}

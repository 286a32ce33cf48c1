/** Memory of a queued report beside its bytes: objects, headers, its entry in a publish. */
const overheadBytes = 1024;

/**
 * Memory budget for all reports of an instance that wait for the log. The limit of each session alone is not enough:
 * during a long outage of the log, thousands of sessions together would exceed the memory of the process.
 */
export class ReportMemory {
  readonly #limitBytes: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Reserved memory; bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True: a session with queued reports stops reading. A session without queued reports may read one more. */
  get full(): boolean {
    return this.#bytes >= this.#limitBytes;
  }

  reserve(bytes: number): void {
    this.#bytes += bytes + overheadBytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes + overheadBytes;
  }
}

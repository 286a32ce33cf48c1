import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Offsets of the wall clocks of the platform's processes. The preload (inside/) applies them. */
export class Clocks {
  readonly #folder: string;
  readonly #off = new Map<string, number>();
  #wasOff = false;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'clocks');
    mkdirSync(this.#folder, { recursive: true });
  }

  /** File of a process's clock offset. */
  fileOf(name: string): string {
    return join(this.#folder, name);
  }

  /** Sets the clock offset of a process; 0: the clock is correct. */
  set(name: string, offsetMs: number): void {
    const file = this.fileOf(name);
    // Write a temporary file and rename it, so that no process reads a partial file.
    writeFileSync(`${file}.new`, String(offsetMs));
    renameSync(`${file}.new`, file);
    if (offsetMs === 0) this.#off.delete(name);
    else {
      this.#off.set(name, offsetMs);
      this.#wasOff = true;
    }
  }

  /** Whether a process has a wrong clock now. */
  get anyOff(): boolean {
    return this.#off.size > 0;
  }

  /** Whether a process has, or had, a wrong clock. */
  get anyWasOff(): boolean {
    return this.#wasOff;
  }

  /** Resets all clocks. */
  heal(): void {
    for (const name of [...this.#off.keys()]) this.set(name, 0);
  }
}

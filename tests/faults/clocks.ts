import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The wall clocks of the platform's processes; a process reads its own through the preload (inside/). */
export class Clocks {
  readonly #folder: string;
  readonly #off = new Map<string, number>();
  #wasOff = false;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'clocks');
    mkdirSync(this.#folder, { recursive: true });
  }

  /** The file from which a process reads its offset. */
  fileOf(name: string): string {
    return join(this.#folder, name);
  }

  /** Sets the offset of a process' clock; 0: the clock is right again. */
  set(name: string, offsetMs: number): void {
    const file = this.fileOf(name);
    // Writes a temporary file and renames it, so that no process reads a partial file.
    writeFileSync(`${file}.new`, String(offsetMs));
    renameSync(`${file}.new`, file);
    if (offsetMs === 0) this.#off.delete(name);
    else {
      this.#off.set(name, offsetMs);
      this.#wasOff = true;
    }
  }

  /** Whether some process has a wrong clock now. */
  get anyOff(): boolean {
    return this.#off.size > 0;
  }

  /** Whether some process has, or had, a wrong clock. */
  get anyWasOff(): boolean {
    return this.#wasOff;
  }

  /** Sets all clocks right. */
  heal(): void {
    for (const name of [...this.#off.keys()]) this.set(name, 0);
  }
}

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The wall clocks of the platform's processes; a process looks at its own by the preload (inside/). */
export class Clocks {
  readonly #folder: string;
  readonly #off = new Map<string, number>();

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'clocks');
    mkdirSync(this.#folder, { recursive: true });
  }

  /** The file that a process looks into. */
  fileOf(name: string): string {
    return join(this.#folder, name);
  }

  /** From now on a process' clock is off by so much; 0: it is right again. */
  set(name: string, offsetMs: number): void {
    const file = this.fileOf(name);
    // Written beside, then moved: it is never read half.
    writeFileSync(`${file}.new`, String(offsetMs));
    renameSync(`${file}.new`, file);
    if (offsetMs === 0) this.#off.delete(name);
    else this.#off.set(name, offsetMs);
  }

  /** Whether some process has a wrong clock now. */
  get anyOff(): boolean {
    return this.#off.size > 0;
  }

  /** All are right. */
  heal(): void {
    for (const name of [...this.#off.keys()]) this.set(name, 0);
  }
}

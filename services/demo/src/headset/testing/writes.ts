import { appendFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { LineFile } from '../line-file.ts';

/**
 * All lines that headsets of this process write, in order over all files. A test simulates a crash after a line by
 * restoring the files up to that line.
 */
export class Writes {
  readonly #lines: { readonly file: string; readonly line: string }[] = [];
  readonly #append = LineFile.prototype.append;

  record(): void {
    const [lines, append] = [this.#lines, this.#append];
    LineFile.prototype.append = function (record) {
      lines.push({ file: basename(this.path), line: JSON.stringify(record) });
      append.call(this, record);
    };
  }

  stop(): void {
    LineFile.prototype.append = this.#append;
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Restores the files after `count` writes to an empty folder. */
  restore(directory: string, count: number): void {
    for (const { file, line } of this.#lines.slice(0, count)) {
      appendFileSync(join(directory, file), `${line}\n`);
    }
  }
}

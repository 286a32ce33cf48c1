import { closeSync, fdatasyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Durability of a headset's files: `full` survives a power cut (fsync), `process` survives kill -9, `none`
 * keeps everything in memory (for benches).
 */
export type Durability = 'full' | 'process' | 'none';

/** An append-only file of JSON lines. Each line is written immediately; an incomplete last line is ignored. */
export class LineFile {
  readonly path: string;
  readonly #durability: Durability;
  #fd: number | undefined;

  constructor(path: string, durability: Durability) {
    this.path = path;
    this.#durability = durability;
  }

  /** False if lines are kept in memory only. */
  get isDurable(): boolean {
    return this.#durability !== 'none';
  }

  read(): unknown[] {
    if (!this.isDurable) return [];
    let text = '';
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
    const lines = text.split('\n');
    const torn = lines.pop();
    // The process died while it wrote an incomplete last line. No action followed this line.
    if (torn) this.rewrite(lines.filter(Boolean).map((line) => JSON.parse(line)));
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  }

  append(record: unknown): void {
    if (!this.isDurable) return;
    if (this.#fd === undefined) {
      mkdirSync(dirname(this.path), { recursive: true });
      this.#fd = openSync(this.path, 'a');
    }
    writeSync(this.#fd, `${JSON.stringify(record)}\n`);
    if (this.#durability === 'full') fdatasyncSync(this.#fd);
  }

  /** Replaces the whole file in one step. */
  rewrite(records: readonly unknown[]): void {
    if (!this.isDurable) return;
    this.close();
    mkdirSync(dirname(this.path), { recursive: true });
    const next = `${this.path}.next`;
    const fd = openSync(next, 'w');
    writeSync(fd, records.map((r) => `${JSON.stringify(r)}\n`).join(''));
    fdatasyncSync(fd);
    closeSync(fd);
    renameSync(next, this.path);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

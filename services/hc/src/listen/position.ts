import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CliError, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import { takePidLock } from '@headset-cloud/cli/pid-lock.ts';
import { makePrivateFolder, writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { storing } from '../folders.ts';

/** Maximum ids of answered events that are remembered, for an expired cursor. */
export const maxRemembered = 20_000;
/** Number of lines at which the file is rewritten. */
const maxLines = 3 * maxRemembered;

/** Name of the file in messages. */
const what = 'The position in the feed';

/** Position of `hc listen` in the feed. */
export interface Position {
  /** Undefined: before the oldest stored event. */
  readonly cursor: string | undefined;
  /**
   * Until the end of the feed is reached, events that were created before this time are left out; milliseconds since
   * 1970, 0: none.
   */
  readonly skipBeforeMs: number;
}

/** Content of a position file. */
interface Content {
  readonly position: Position;
  /** Start of the wanted events if the cursor has expired; milliseconds since 1970. */
  readonly wantedSinceMs: number;
  readonly answered: readonly string[];
}

/**
 * The file with the position of `hc listen`. Each answered event is appended at once, so that the next run after a kill
 * continues at the event in progress. One process at a time holds the file.
 */
export class PositionFile {
  readonly #path: string;
  readonly #unlock: () => void;
  #file: number | undefined;
  #lines = 0;
  #position: Position;
  readonly wantedSinceMs: number;
  readonly #answered: Set<string>;

  private constructor(path: string, unlock: () => void, { position, wantedSinceMs, answered }: Content) {
    this.#path = path;
    this.#unlock = unlock;
    this.#position = position;
    this.wantedSinceMs = wantedSinceMs;
    this.#answered = new Set(answered);
    this.#rewrite();
  }

  /**
   * Opens the file. `begin` returns the start position for a new file, or undefined to stop. `again` ignores the stored
   * position. Throws CliError for a damaged file, and while another process holds the file.
   */
  static async open(
    path: string,
    again: boolean,
    begin: () => Promise<{ position: Position; wantedSinceMs: number } | undefined>,
  ): Promise<{ file: PositionFile; isNew: boolean } | undefined> {
    const unlock = storing(what, path, 'XDG_STATE_HOME', () => {
      makePrivateFolder(dirname(path));
      return lock(path);
    });
    try {
      const kept = again ? undefined : read(path);
      if (kept) return { file: new PositionFile(path, unlock, kept), isNew: false };
      const start = await begin();
      if (start) return { file: new PositionFile(path, unlock, { ...start, answered: [] }), isNew: true };
    } catch (error) {
      unlock();
      throw error;
    }
    unlock();
    return undefined;
  }

  get position(): Position {
    return this.#position;
  }

  /** Number of remembered answered events. */
  get remembered(): number {
    return this.#answered.size;
  }

  /** True for an event (`eventKey`) that was answered and is still remembered. */
  has(event: string): boolean {
    return this.#answered.has(event);
  }

  /** Stores that an event was answered. After the return, this survives the end of the process. */
  answered(event: string): void {
    this.#answered.add(event);
    if (this.#answered.size > maxRemembered) {
      const [oldest] = this.#answered;
      this.#answered.delete(oldest as string);
    }
    this.#append({ id: event });
  }

  /** Moves the position; all earlier events were answered. */
  moveTo(position: Position): void {
    if (position.cursor === this.#position.cursor && position.skipBeforeMs === this.#position.skipBeforeMs)
      return;
    this.#position = position;
    this.#append(lineOf(position));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#unlock();
  }

  #append(line: object): void {
    const file = this.#file;
    if (file === undefined) throw new Error('the position is closed');
    if (this.#lines >= maxLines) {
      this.#rewrite();
    } else {
      storing(what, this.#path, 'XDG_STATE_HOME', () => writeFileSync(file, `${JSON.stringify(line)}\n`));
      this.#lines += 1;
    }
  }

  #rewrite(): void {
    const lines: object[] = [
      { version: 1, wantedSinceMs: this.wantedSinceMs },
      ...[...this.#answered].map((id) => ({ id })),
      lineOf(this.#position),
    ];
    // Callback ids contain device ids, so the file is private.
    storing(what, this.#path, 'XDG_STATE_HOME', () =>
      writeSecretFile(this.#path, lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
    );
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = openSync(this.#path, 'a', 0o600);
    this.#lines = lines.length;
  }
}

function lineOf({ cursor, skipBeforeMs }: Position): object {
  return { cursor: cursor ?? null, ...(skipBeforeMs > 0 && { skipBeforeMs }) };
}

/** Reads a file; undefined if it does not exist. Ignores an incomplete last line, which a kill has left. */
function read(path: string): Content | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const lines = text.split('\n').slice(0, -1);
  let position: Position | undefined;
  let wantedSinceMs = 0;
  const answered: string[] = [];
  for (const [i, line] of lines.entries()) {
    const record = parsed(line);
    if (i === 0 && record?.['version'] === 1) wantedSinceMs = Number(record['wantedSinceMs']);
    else if (i > 0 && typeof record?.['id'] === 'string') answered.push(record['id']);
    else if (i > 0 && (record?.['cursor'] === null || typeof record?.['cursor'] === 'string')) {
      position = { cursor: record['cursor'] ?? undefined, skipBeforeMs: Number(record['skipBeforeMs'] ?? 0) };
    } else throw damaged(path, i + 1);
  }
  if (!position || !Number.isFinite(wantedSinceMs)) throw damaged(path, lines.length);
  return { position, wantedSinceMs, answered: answered.slice(-maxRemembered) };
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function damaged(path: string, line: number): CliError {
  return refusedError(
    `The file of the position, ${path}, is damaged in line ${line}. Choose a start: --since oldest, --since 2h or --since now.`,
  );
}

/** Locks the position for this process. Returns a function that releases the lock. */
function lock(path: string): () => void {
  const file = `${path}.lock`;
  const taken = takePidLock(file);
  if ('release' in taken) return taken.release;
  throw refusedError(
    `Another hc listen (process ${taken.holder}) forwards the same events to this address. Stop it first, or forward to another URL.\n(If process ${taken.holder} is another program, remove ${file}.)`,
  );
}

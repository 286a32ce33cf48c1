import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CliError, cliExitCodes } from '@headset-cloud/kit/cli/exit-codes.ts';
import { takePidLock } from '@headset-cloud/kit/cli/pid-lock.ts';
import { makePrivateFolder, writeSecretFile } from '@headset-cloud/kit/cli/secret-file.ts';
import { storing } from '../places.ts';

/** Most ids of answered events that are remembered, for a cursor that is lost. */
export const mostRemembered = 20_000;
/** Lines of the file at which it is written again. */
const mostLines = 3 * mostRemembered;

/** For messages. */
const what = 'The position in the feed';

/** Where in the feed a reader is. */
export interface Place {
  /** Undefined: before the oldest event that is kept. */
  readonly cursor: string | undefined;
  /** Events that were created before are left out until all that is there was read; milliseconds since 1970, 0: none. */
  readonly skipBeforeMs: number;
}

/** What a file of a position has. */
interface Content {
  readonly place: Place;
  /** From when on events are wanted where the cursor is lost; milliseconds since 1970. */
  readonly wantedSinceMs: number;
  readonly answered: readonly string[];
}

/**
 * Where `hc listen` is in the feed: a file to which each answered event is appended at once, so that a run that is
 * killed is continued with at the event that was under way. One process at a time has it.
 */
export class Position {
  readonly #path: string;
  readonly #unlock: () => void;
  #file: number | undefined;
  #lines = 0;
  #place: Place;
  readonly wantedSinceMs: number;
  readonly #answered: Set<string>;

  private constructor(path: string, unlock: () => void, { place, wantedSinceMs, answered }: Content) {
    this.#path = path;
    this.#unlock = unlock;
    this.#place = place;
    this.wantedSinceMs = wantedSinceMs;
    this.#answered = new Set(answered);
    this.#rewrite();
  }

  /**
   * Opens the file; `begin` says where to start where there is none, or undefined to give up. With `again` what the
   * file says is left. Throws CliError for a damaged file, and while another process has it.
   */
  static async open(
    path: string,
    again: boolean,
    begin: () => Promise<{ place: Place; wantedSinceMs: number } | undefined>,
  ): Promise<{ position: Position; isNew: boolean } | undefined> {
    const unlock = storing(what, path, 'XDG_STATE_HOME', () => {
      makePrivateFolder(dirname(path));
      return lock(path);
    });
    try {
      const kept = again ? undefined : read(path);
      if (kept) return { position: new Position(path, unlock, kept), isNew: false };
      const start = await begin();
      if (start) return { position: new Position(path, unlock, { ...start, answered: [] }), isNew: true };
    } catch (error) {
      unlock();
      throw error;
    }
    unlock();
    return undefined;
  }

  get place(): Place {
    return this.#place;
  }

  /** How many answered events are remembered. */
  get remembered(): number {
    return this.#answered.size;
  }

  /** True for an event (`eventKey`) that was answered, as far as it is remembered. */
  has(event: string): boolean {
    return this.#answered.has(event);
  }

  /** Remembers an event that was answered. It survives the end of this process when this returns. */
  answered(event: string): void {
    this.#answered.add(event);
    if (this.#answered.size > mostRemembered) {
      const [oldest] = this.#answered;
      this.#answered.delete(oldest as string);
    }
    this.#append({ id: event });
  }

  /** Continues there; everything before was answered. */
  moveTo(place: Place): void {
    if (place.cursor === this.#place.cursor && place.skipBeforeMs === this.#place.skipBeforeMs) return;
    this.#place = place;
    this.#append(lineOf(place));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#unlock();
  }

  #append(line: object): void {
    const file = this.#file;
    if (file === undefined) throw new Error('the position is closed');
    if (this.#lines >= mostLines) {
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
      lineOf(this.#place),
    ];
    // Ids of callbacks name devices.
    storing(what, this.#path, 'XDG_STATE_HOME', () =>
      writeSecretFile(this.#path, lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
    );
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = openSync(this.#path, 'a', 0o600);
    this.#lines = lines.length;
  }
}

function lineOf({ cursor, skipBeforeMs }: Place): object {
  return { cursor: cursor ?? null, ...(skipBeforeMs > 0 && { skipBeforeMs }) };
}

/** The content of a file; undefined where there is none. A last line that a kill has cut off is left out. */
function read(path: string): Content | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const lines = text.split('\n').slice(0, -1);
  let place: Place | undefined;
  let wantedSinceMs = 0;
  const answered: string[] = [];
  for (const [i, line] of lines.entries()) {
    const said = parsed(line);
    if (i === 0 && said?.['version'] === 1) wantedSinceMs = Number(said['wantedSinceMs']);
    else if (i > 0 && typeof said?.['id'] === 'string') answered.push(said['id']);
    else if (i > 0 && (said?.['cursor'] === null || typeof said?.['cursor'] === 'string')) {
      place = { cursor: said['cursor'] ?? undefined, skipBeforeMs: Number(said['skipBeforeMs'] ?? 0) };
    } else throw damaged(path, i + 1);
  }
  if (!place || !Number.isFinite(wantedSinceMs)) throw damaged(path, lines.length);
  return { place, wantedSinceMs, answered: answered.slice(-mostRemembered) };
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function damaged(path: string, line: number): CliError {
  return new CliError(
    cliExitCodes.refused,
    `The file of the position, ${path}, is damaged in line ${line}. Say where to begin: --from oldest, --from 2h or --from now.`,
  );
}

/** Takes the position for this process; returns what releases it. */
function lock(path: string): () => void {
  const file = `${path}.lock`;
  const taken = takePidLock(file);
  if ('release' in taken) return taken.release;
  throw new CliError(
    cliExitCodes.refused,
    `Another hc listen (process ${taken.holder}) forwards the same events to this address. End it first, or forward to another address.\n(If process ${taken.holder} is something else, remove ${file}.)`,
  );
}

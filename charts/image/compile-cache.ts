import * as childProcess from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

const execFile = promisify(childProcess.execFile);

/** Folder for the JavaScript of the image's TypeScript, below the application's folder. */
export const compileCacheFolder = 'compile-cache';

const patienceMs = 60_000;

/**
 * Fills the staged application's compile cache with the JavaScript that Node would otherwise create at each start.
 * Starts each process with an invalid configuration, which loads all its modules. Node uses an entry
 * only if its own version and the file's content match, so a wrong entry only costs time.
 * Throws if a process does not end with a configuration error.
 */
export async function fillCompileCache(app: string, node: string, places: readonly string[]): Promise<void> {
  const cache = join(app, compileCacheFolder);
  const entries = places.flatMap((place) => entriesOf(app, place));
  // Node writes an entry to a temporary file and renames it, so several processes may write the same entry.
  const fill = async () => {
    for (let entry = entries.shift(); entry; entry = entries.shift())
      await startInVain(app, node, entry, cache);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, fill));
  let kept = 0;
  for (const file of readdirSync(cache, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isFile() && keepStripped(path, app)) kept += 1;
  }
  if (kept === 0) throw new Error(`The Node of the image has kept no stripped source in ${cache}.`);
}

async function startInVain(app: string, node: string, entry: string, cache: string): Promise<void> {
  const env = {
    NODE_COMPILE_CACHE: cache,
    NODE_COMPILE_CACHE_PORTABLE: '1',
    LOG_LEVEL: 'none: to be refused',
  };
  const args = ['--disable-warning=ExperimentalWarning', entry];
  const ended = await execFile(node, args, { cwd: app, timeout: patienceMs, env }).catch((error) => error);
  if (typeof ended.code !== 'number')
    throw new Error(`${entry} did not refuse to start: ${ended.message ?? ended.stderr}`);
}

/** The entry files of a workspace's processes. */
function entriesOf(app: string, place: string): string[] {
  if (!existsSync(join(app, place, 'src'))) return [];
  return readdirSync(join(app, place, 'src'))
    .filter((name) => /^([^/]+-)?main\.ts$/.test(name))
    .sort()
    .map((name) => `${place}/src/${name}`);
}

/** Node's header of an entry: magic number, size and CRC-32 of the source, then of what was made of it. */
const header = { bytes: 20, size: 8, hash: 16 };

/**
 * Keeps an entry with JavaScript, and sets its source path for stack traces to /app in the image. Removes an entry with
 * V8's bytecode: its bytes differ between runs, and it made no start faster.
 */
function keepStripped(path: string, app: string): boolean {
  const entry = readFileSync(path);
  const text = entry.subarray(header.bytes).toString();
  const named = '\n\n//# sourceURL=';
  const from = `${named}${pathToFileURL(app)}/`;
  const at = text.lastIndexOf(from);
  if (at < 0) {
    rmSync(path);
    return false;
  }
  const moved = Buffer.from(`${text.slice(0, at)}${named}file:///app/${text.slice(at + from.length)}`);
  entry.writeUInt32LE(moved.length, header.size);
  entry.writeUInt32LE(crc32(moved), header.hash);
  writeFileSync(path, Buffer.concat([entry.subarray(0, header.bytes), moved]));
  // Node writes it for its own user alone.
  chmodSync(path, 0o644);
  return true;
}

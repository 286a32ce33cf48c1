import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';

const root = resolve(import.meta.dirname, '../..');
const requirements = join(import.meta.dirname, 'requirements.txt');

/** The program, or why it is not available on this machine. */
export type Tool = { readonly program: string } | { readonly missing: string };

/**
 * Schemathesis in a separate virtual environment under .cache, created at the first use from the pinned
 * requirements. Needs Python 3.10 or newer.
 */
export function prepareTool(): Tool {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = join(root, '.cache', `schemathesis-${digest}`);
  const program = join(folder, 'bin', 'st');
  // Written last, so that the folder of an interrupted install is created again.
  const done = join(folder, 'installed');
  const python = findPython();
  if (typeof python !== 'string') return python;
  if (existsSync(done)) return { program };
  rmSync(folder, { recursive: true, force: true });
  try {
    run(python, ['-m', 'venv', folder]);
    const pip = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', requirements];
    run(join(folder, 'bin', 'pip'), pip);
    run(program, ['--version']);
    writeFileSync(done, '');
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return {
      missing: `schemathesis could not be installed: ${String((error as Error).message).slice(0, 500)}`,
    };
  }
  return { program };
}

function run(program: string, args: string[]): void {
  execFileSync(program, args, { stdio: 'pipe', encoding: 'utf8', timeout: 300_000 });
}

/** Returns the name of a Python that can make the environment, or why there is none. */
function findPython(): string | { readonly missing: string } {
  const check = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  const names = ['python3', 'python'].filter((name) => findProgram(name));
  if (names.length === 0) return { missing: 'python3 (3.10 or newer) not on PATH' };
  let cause = '';
  for (const name of names) {
    try {
      run(name, ['-c', check]);
      return name;
    } catch (error) {
      cause = (error as Error).message.trim();
    }
  }
  return { missing: `python3 is older than 3.10 or has no venv: ${cause.slice(0, 500)}` };
}

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { makePackage } from '@headset-cloud/hc/package/make.ts';
import { npmEnvironment } from '../support/npm.ts';

const run = promisify(execFile);

/** Installed tools, reused by later runs; not committed. Not in .cache, which Gatsby deletes in each build. */
const cache = resolve(import.meta.dirname, '../../node_modules/.cache/samples');

/** Frameworks that the guides tell readers to install. */
const express = 'express@5';
const flask = 'flask>=3.1,<4';

/** Path of a tool, or the reason why it is missing. */
export type Tool = { readonly path: string } | { readonly missing: string };

const installMs = 300_000;

/** Returns the path of `node_modules` with Express. */
export async function findExpress(): Promise<Tool> {
  return kept('npm', 'node_modules', async (folder) => {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', express];
    await run('npm', args, { cwd: folder, timeout: installMs, env: npmEnvironment() });
  });
}

/** Returns the path of a Python with Flask. */
export async function findFlask(): Promise<Tool> {
  const python = await findPython();
  if ('missing' in python) return python;
  return kept('venv', 'bin/python', async (folder) => {
    await run(python.path, ['-m', 'venv', folder], { timeout: installMs });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', flask];
    await run(join(folder, 'bin/python'), pip, { timeout: installMs });
  });
}

/** Builds the package of `hc`, installs it as a reader does, and returns the folder of the command. */
export async function findHc(): Promise<Tool> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-hc-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = await makePackage(join(folder, 'made'));
  const args = [
    'install',
    '--offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--prefix',
    folder,
    archive,
  ];
  await run('npm', args, { cwd: folder, timeout: installMs, env: npmEnvironment() });
  return { path: join(folder, 'node_modules/.bin') };
}

export async function findPython(): Promise<Tool> {
  return found('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'], 'Python 3.9 or newer');
}

export async function findProgram(name: string): Promise<Tool> {
  return found(name, [name === 'openssl' ? 'version' : '--version'], name);
}

async function found(command: string, args: string[], what: string): Promise<Tool> {
  try {
    await run(command, args);
    return { path: command };
  } catch (error) {
    const cause = (error as Error).message.trim().split('\n').at(-1);
    return { missing: orDemanded(`${what} cannot run: ${cause}`) ?? '' };
  }
}

/**
 * Installs a tool into the cache, unless it is already there. Writes `done` last, so that an incomplete installation is
 * not used. Installs in place, because a virtual environment cannot be moved.
 */
async function kept(name: string, path: string, install: (folder: string) => Promise<void>): Promise<Tool> {
  const folder = join(cache, name);
  const done = join(folder, '.installed');
  if (!existsSync(done)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    try {
      await install(folder);
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string };
      const lines = (stderr || message).trim().split('\n');
      const last = lines.filter((line) => !line.includes('complete log')).at(-1) ?? '';
      return { missing: `${name === 'npm' ? express : flask} cannot be installed: ${last}` };
    }
    writeFileSync(`${done}.tmp`, '');
    renameSync(`${done}.tmp`, done);
  }
  return { path: join(folder, path) };
}

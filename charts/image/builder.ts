import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram } from './base.ts';

export interface Build {
  /** The staged folder, with its Dockerfile. */
  readonly folder: string;
  readonly base: string;
  readonly reference: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Path of the image's archive. */
  readonly out: string;
}

/** A program that builds images. */
export interface Builder {
  readonly name: string;
  /** Loads the image of an archive under its own name. */
  load(archive: string): void;
  /** Pushes the image of an archive to its registry. */
  push(archive: string, reference: string): void;
  /** Writes a named base image into an archive; pulls it if it is missing. */
  save(reference: string, archive: string): void;
  /** Writes a loaded image into an archive, with its id as its tag. Docker only. */
  saveById?(reference: string, archive: string): void;
  build(build: Build): void;
  close(): void;
}

/** Runs a program; its output is returned, and shown only when it fails. */
export function run(program: string, args: readonly string[], env: Record<string, string> = {}): string {
  try {
    return execFileSync(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 26,
      encoding: 'utf8',
    });
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args[0]} failed: ${stderr ?? ''}${stdout ?? ''}${stderr ? '' : message}`);
  }
}

const runs = (program: string, ...args: string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
};

const labelArgs = (labels: Build['labels']) =>
  Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]);

function docker(): Builder {
  return {
    name: 'docker',
    load(archive) {
      run('docker', ['load', '--input', archive]);
    },
    push(archive, reference) {
      run('docker', ['load', '--input', archive]);
      run('docker', ['push', reference]);
    },
    save(reference, archive) {
      if (!runs('docker', 'image', 'inspect', reference)) run('docker', ['pull', reference]);
      run('docker', ['save', '--output', archive, reference]);
    },
    saveById(reference, archive) {
      const id = run('docker', ['image', 'inspect', '--format', '{{.Id}}', reference]).trim();
      const named = reference.replace(/:[^:/]*$/, `:${id.replace('sha256:', '')}`);
      run('docker', ['tag', reference, named]);
      run('docker', ['save', '--output', archive, named]);
    },
    build({ folder, base, reference, labels, out }) {
      const args = ['--build-arg', `BASE=${base}`, '--tag', reference, ...labelArgs(labels), folder];
      run('docker', ['build', '--quiet', ...args]);
      run('docker', ['save', '--output', out, reference]);
    },
    close: () => {},
  };
}

/** Builds without a daemon, in a separate store that is removed afterwards. */
function buildah(): Builder {
  const work = mkdtempSync(join(tmpdir(), 'headset-cloud-buildah-'));
  const call = (...args: string[]): void => {
    run('buildah', ['--root', join(work, 'root'), '--runroot', join(work, 'run'), ...args], { TMPDIR: work });
  };
  return {
    name: 'buildah',
    load: (archive) => call('pull', '--quiet', `docker-archive:${archive}`),
    push(archive, reference) {
      call('pull', '--quiet', `docker-archive:${archive}`);
      call('push', '--quiet', reference, `docker://${reference}`);
    },
    save(reference, archive) {
      call('pull', '--quiet', '--policy', 'missing', reference);
      call('push', '--quiet', reference, `docker-archive:${archive}:${reference}`);
    },
    build({ folder, base, reference, labels, out }) {
      const args = ['--build-arg', `BASE=${base}`, '--tag', reference, ...labelArgs(labels), folder];
      // A layer for each COPY, so that Node and the packages are stored and pulled once.
      call(
        'build',
        '--quiet',
        '--isolation',
        'chroot',
        '--layers',
        '--no-cache',
        '--pull-never',
        '--timestamp',
        '0',
        ...args,
      );
      call('push', '--quiet', reference, `docker-archive:${out}:${reference}`);
    },
    close: () => rmSync(work, { recursive: true, force: true }),
  };
}

/** The builder of this machine. Throws an error that names the missing tool. */
export function findBuilder(): Builder {
  // A client without a daemon builds nothing.
  if (hasProgram('docker') && runs('docker', 'info')) return docker();
  if (hasProgram('buildah')) return buildah();
  throw new Error(
    hasProgram('docker')
      ? 'docker is installed, but its daemon does not answer. Start it (or set DOCKER_HOST), or install buildah.'
      : 'Neither docker nor buildah is on PATH: install one of them (Debian: apt-get install buildah).',
  );
}

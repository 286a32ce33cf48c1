import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { takePidLock } from '@headset-cloud/cli/pid-lock.ts';
import { oneProcessWanted } from '../stack/instances.ts';
import { isFree } from '../stack/ports.ts';
import { root } from '../stack/process.ts';
import type { StackKind } from '../stack/stack.ts';

/** An error before anything is started. The message says what the user can do. */
export class Refusal extends Error {}

/**
 * Consecutive ports from the first port on. The admin port is separate, because no external client needs it.
 */
export interface UpPorts {
  readonly gateway: number;
  readonly issuer: number;
  readonly deviceLink: number;
  readonly integrator: number;
  readonly files: number;
  readonly sora: number;
  readonly admin: number;
}

/** The options of `make up`. */
export interface UpOptions {
  readonly kind: StackKind;
  /** Absolute path. */
  readonly dataDir: string;
  readonly ports: UpPorts;
  /** True: headsets connect with TLS. */
  readonly headsetTls: boolean;
  /** Absolute path of the user's file of settings. */
  readonly settingsFile: string | undefined;
}

const adminOffset = 1020;
const highestPort = 65_535 - adminOffset;

/** Reads STACK, DATA_DIR, PORT, HEADSET_TLS and SETTINGS. Throws a Refusal for invalid values. */
export function optionsFrom(env: NodeJS.ProcessEnv): UpOptions {
  const kind = env['STACK'] || 'embedded';
  if (kind !== 'embedded' && kind !== 'real') {
    throw new Refusal(`STACK=${kind} is unknown: make up STACK=embedded (the default) or STACK=real.`);
  }
  try {
    oneProcessWanted(env);
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
  const port = env['PORT'] || '8080';
  const first = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (first < 1 || first > highestPort) {
    throw new Refusal(`PORT=${port} is not a port from 1 to ${highestPort}: make up PORT=9080, for example.`);
  }
  const tls = env['HEADSET_TLS'] || '0';
  if (tls !== '0' && tls !== '1') {
    throw new Refusal(`HEADSET_TLS=${tls} is unknown: make up HEADSET_TLS=1, or leave it out.`);
  }
  return {
    kind,
    headsetTls: tls === '1',
    settingsFile: env['SETTINGS'] ? resolve(root, env['SETTINGS']) : undefined,
    dataDir: resolve(root, env['DATA_DIR'] || '.data'),
    ports: {
      gateway: first,
      issuer: first + 1,
      deviceLink: first + 2,
      integrator: first + 3,
      files: first + 4,
      sora: first + 5,
      admin: first + adminOffset,
    },
  };
}

/** Formats a path for messages: relative to the project's root, or absolute if it is outside. */
export function shown(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith('..') ? path : inside || '.';
}

/** Creates the folder and verifies that it is writable. */
export function prepareFolder(dataDir: string): void {
  const probe = join(dataDir, '.probe');
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK);
    try {
      writeFileSync(probe, Buffer.alloc(1024 * 1024));
    } finally {
      rmSync(probe, { force: true });
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const elsewhere = 'choose another folder: make up DATA_DIR=…';
    const reason =
      code === 'ENOSPC'
        ? `the disk is full: free some space, or ${elsewhere}`
        : code === 'EROFS'
          ? `the disk is read-only: ${elsewhere}`
          : `${message}: ${elsewhere}`;
    throw new Refusal(`Cannot write to ${shown(dataDir)}: ${reason}`);
  }
}

/** Throws a Refusal if the folder is in use. The pid file is removed when this process ends. */
export function refuseSecondRun(dataDir: string): void {
  const pidFile = join(dataDir, 'up.pid');
  const lock = takePidLock(pidFile);
  if ('holder' in lock) {
    throw new Refusal(
      `The platform is running already (process ${lock.holder}); its addresses are in ${shown(join(dataDir, 'demo.json'))}.\n` +
        'Stop it with Ctrl-C in its terminal, or use another folder and port: make up DATA_DIR=.data2 PORT=9080\n' +
        `(If process ${lock.holder} is something else, remove ${shown(pidFile)}.)`,
    );
  }
  process.on('exit', lock.release);
}

/** Writes the admin ports for `ctl` to addresses.json. Returns a function that removes the file. */
export function writeAddresses(
  dataDir: string,
  adminUrls: Readonly<Record<string, string>>,
): () => Promise<void> {
  const file = join(dataDir, 'addresses.json');
  writeFileSync(file, `${JSON.stringify(adminUrls, null, 2)}\n`);
  return async () => rmSync(file, { force: true });
}

export async function refuseBusyPorts(ports: UpPorts): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (!(await isFree(port))) {
      throw new Refusal(
        `Port ${port} (${name}) is taken. Stop the program that uses it, or choose other ports: make up PORT=${otherPort(ports)}`,
      );
    }
  }
}

function otherPort({ gateway }: UpPorts): number {
  return gateway + 1000 <= highestPort ? gateway + 1000 : gateway - 1000;
}

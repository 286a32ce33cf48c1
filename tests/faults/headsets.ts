import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import type { HeadsetKeyFile } from '../support/provision.ts';
import { type ManagedProcess, manageProcess } from '../support/stack/process.ts';

/** A process of simulated headsets; its control port stays the same over restarts. */
export interface HeadsetProcess {
  readonly process: ManagedProcess;
  readonly devices: readonly HeadsetKeyFile[];
  readonly controlUrl: string;
}

/** What a headset says about itself over the control port. */
export interface HeadsetState {
  readonly deviceId: string;
  readonly sessionEpoch: number;
  readonly unacknowledgedReports: number;
}

/** Describes a process of headsets, each with its key and state in `dir`; nothing runs before `start`. */
export function manageHeadsets(options: {
  name: string;
  dir: string;
  server: string;
  devices: readonly HeadsetKeyFile[];
  controlPort: number;
  /** More flags of the simulator. */
  flags?: readonly string[];
}): HeadsetProcess {
  const keys = join(options.dir, `${options.name}-keys`);
  mkdirSync(keys, { recursive: true });
  for (const device of options.devices) {
    writeFileSync(join(keys, `${device.deviceId}.json`), JSON.stringify(device), { mode: 0o600 });
  }
  const process = manageProcess({
    name: options.name,
    entry: 'tests/support/headset/main.ts',
    args: [
      ...['--server', options.server, '--keys', keys, '--state', stateOf(options.dir)],
      ...['--durability', 'process', '--quiet', '--backoff-ms', '50-400'],
      ...['--control-port', String(options.controlPort), ...(options.flags ?? [])],
    ],
    env: {},
    logFile: join(options.dir, 'logs', `${options.name}.log`),
  });
  return { process, devices: options.devices, controlUrl: `http://127.0.0.1:${options.controlPort}` };
}

/** Sends a headset away for so long; false when its process does not answer. */
export async function sendAway(headsets: HeadsetProcess, deviceId: string, ms: number): Promise<boolean> {
  try {
    const answer = await request(`${headsets.controlUrl}/actions`, {
      method: 'POST',
      body: JSON.stringify({ action: 'away', deviceId, ms }),
      headersTimeout: 1000,
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

/** The headsets' own words; undefined when their process does not answer. */
export async function statesOf(headsets: HeadsetProcess): Promise<HeadsetState[] | undefined> {
  try {
    const answer = await request(`${headsets.controlUrl}/headsets`, { headersTimeout: 2000 });
    return (await answer.body.json()) as HeadsetState[];
  } catch {
    return undefined;
  }
}

/** Every line of the effects files; a torn last line is left out. */
export function effectsIn(dir: string): { deviceId: string; transactionId: number }[] {
  const state = stateOf(dir);
  const suffix = '.effects.jsonl';
  return readdirSync(state)
    .filter((name) => name.endsWith(suffix))
    .flatMap((name) =>
      readFileSync(join(state, name), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => ({
          deviceId: name.slice(0, -suffix.length),
          transactionId: (JSON.parse(line) as { transactionId: number }).transactionId,
        })),
    );
}

function stateOf(dir: string): string {
  return join(dir, 'headset-state');
}

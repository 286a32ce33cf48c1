import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { request } from 'undici';
import type { Effect } from './evidence.ts';

/** A process of simulated headsets. Its control port stays the same over restarts. */
export interface HeadsetProcess {
  readonly process: ManagedProcess;
  readonly devices: readonly HeadsetKeyFile[];
  readonly controlUrl: string;
}

/** State of a headset from the control port. */
export interface HeadsetState {
  readonly deviceId: string;
  readonly sessionEpoch: number;
  readonly unacknowledgedReports: number;
  readonly unfinishedUploads: number;
}

/** Defines a headset process with keys and state in `dir`. `start` starts it. */
export function manageHeadsets(options: {
  name: string;
  dir: string;
  server: string;
  devices: readonly HeadsetKeyFile[];
  controlPort: number;
  /** The initial content and surroundings of each headset. */
  content: object;
  /** Additional flags of the simulator. */
  flags?: readonly string[];
}): HeadsetProcess {
  const keys = join(options.dir, `${options.name}-keys`);
  mkdirSync(keys, { recursive: true });
  for (const device of options.devices) {
    writeFileSync(join(keys, `${device.deviceId}.json`), JSON.stringify(device), { mode: 0o600 });
  }
  const content = join(options.dir, `${options.name}-content.json`);
  writeFileSync(content, JSON.stringify(options.content));
  const process = manageProcess({
    name: options.name,
    entry: 'services/demo/src/headset/main.ts',
    args: [
      ...['--server', options.server, '--keys', keys, '--state', stateOf(options.dir)],
      ...['--durability', 'process', '--quiet', '--backoff-ms', '50-400'],
      ...['--control-port', String(options.controlPort), '--content', content],
      ...(options.flags ?? []),
    ],
    env: {},
    logFile: join(options.dir, 'logs', `${options.name}.log`),
  });
  return { process, devices: options.devices, controlUrl: `http://127.0.0.1:${options.controlPort}` };
}

/** Sends an action to a headset. Returns false if the process does not confirm it. */
export async function act(
  headsets: HeadsetProcess,
  deviceId: string,
  action: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  try {
    const answer = await request(`${headsets.controlUrl}/actions`, {
      method: 'POST',
      body: JSON.stringify({ ...action, deviceId }),
      headersTimeout: 1000,
    });
    const text = await answer.body.text();
    if (answer.statusCode === 400) throw new RangeError(text);
    return answer.statusCode === 200;
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return false;
  }
}

/** Keeps a headset offline for `ms`. Returns false if the process does not answer. */
export function sendAway(headsets: HeadsetProcess, deviceId: string, ms: number): Promise<boolean> {
  return act(headsets, deviceId, { action: 'away', ms });
}

/** Returns the states of the headsets; undefined if their process does not answer. */
export async function statesOf(headsets: HeadsetProcess): Promise<HeadsetState[] | undefined> {
  try {
    const answer = await request(`${headsets.controlUrl}/headsets`, { headersTimeout: 2000 });
    return (await answer.body.json()) as HeadsetState[];
  } catch {
    return undefined;
  }
}

/** Reads all lines of the effects files. An incomplete last line is ignored. */
export function effectsIn(dir: string): Effect[] {
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
          ...(JSON.parse(line) as Omit<Effect, 'deviceId'>),
        })),
    );
}

function stateOf(dir: string): string {
  return join(dir, 'headset-state');
}

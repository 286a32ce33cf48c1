import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '@headset-cloud/demo/api.ts';
import type { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import type { HeadsetProcess } from '../headsets.ts';
import type { Random } from '../random.ts';
import type { FeedReader } from './feed-reader.ts';
import type { IntegratorClient } from './integrator-client.ts';
import type { LoadRecord } from './load-record.ts';

/** The API, devices and headsets of one integrator. */
export interface LoadTarget {
  readonly applicationId: string;
  readonly api: ApiClient;
  readonly client: IntegratorClient;
  readonly devices: readonly HeadsetKeyFile[];
  readonly headsetsOf: (deviceId: string) => HeadsetProcess;
  readonly sora: SoraSimulator;
  /** Reader of the application's event feed. */
  readonly feed: FeedReader;
  /** Record of the load's requests. */
  readonly loadRecord: LoadRecord;
}

export interface LoadOptions {
  /** Number of loops that send operations, per integrator. */
  readonly commanders: number;
  /** Share of iterations that disconnect the headset right after a command, and then cancel it. */
  readonly cancelAwayShare: number;
  /** Share of iterations that send two equal operations at once to one headset and cut its connection. */
  readonly pairShare: number;
  /** Maximum pause between two calls of a loop; milliseconds. */
  readonly pauseMs: number;
}

/** Runs until `running` returns false, and resolves after its last call is answered. */
export type Loop = (running: () => boolean) => Promise<void>;

/** Pauses a loop for `ms`, or until half a second after the end of the load. */
export async function rest(ms: number, running: () => boolean): Promise<void> {
  const untilMs = performance.now() + ms;
  for (let left = ms; left > 0 && running(); left = untilMs - performance.now()) {
    await delay(Math.min(left, 500));
  }
}

/** Number of devices per application that are activated and deactivated. All others stay activated. */
export const cycling = 2;

export function staying(devices: readonly HeadsetKeyFile[]): string[] {
  return devices.slice(cycling).map((d) => d.deviceId);
}

/** Creates a random number stream for each loop. */
export type Draw = (name: string) => Random;

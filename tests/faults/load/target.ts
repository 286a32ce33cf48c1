import type { ApiClient } from '@headset-cloud/demo/api.ts';
import type { HeadsetKeyFile } from '@headset-cloud/demo/provision.ts';
import type { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import type { HeadsetProcess } from '../headsets.ts';
import type { Random } from '../random.ts';
import type { IntegratorClient } from './integrator-client.ts';
import type { Said } from './said.ts';

/** What one integrator works with. */
export interface LoadTarget {
  readonly applicationId: string;
  readonly api: ApiClient;
  readonly client: IntegratorClient;
  readonly devices: readonly HeadsetKeyFile[];
  readonly headsetsOf: (deviceId: string) => HeadsetProcess;
  readonly sora: SoraSimulator;
  /** What its headsets are told to say and do goes there. */
  readonly said: Said;
}

export interface LoadOptions {
  /** Loops that send commands, each. */
  readonly commanders: number;
  /** Share of turns that send the headset away right after a command, and then cancel. */
  readonly cancelAwayShare: number;
  /** Share of turns that send two of a kind at once to one headset and cut its connection. */
  readonly pairShare: number;
  /** Pause between two calls of a loop, at most; milliseconds. */
  readonly pauseMs: number;
}

/** Runs until `running` says no; ends with its last call answered. */
export type Loop = (running: () => boolean) => Promise<void>;

/** Devices of each application whose activation comes and goes; all others stay activated. */
export const cycling = 2;

export function staying(devices: readonly HeadsetKeyFile[]): string[] {
  return devices.slice(cycling).map((d) => d.deviceId);
}

/** A stream of random numbers for each loop. */
export type Draw = (name: string) => Random;

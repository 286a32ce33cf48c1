import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';

/**
 * Returns the missing programs as the reason of a skip; undefined if all are on PATH. If
 * REQUIRE_REAL_STACK is set (CI), it throws instead.
 */
export function missingTools(...programs: string[]): string | undefined {
  const missing = programs.filter((program) => !findProgram(program));
  return orDemanded(missing.length > 0 ? `${missing.join(', ')} not on PATH` : undefined);
}

/** Result of a program. */
export interface Ended {
  /** Exit code; null after a signal. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it ends. Throws an Error with program and cause if it does not start. */
export function runTool(
  program: string,
  args: readonly string[],
  options: Omit<SpawnSyncOptions, 'encoding' | 'shell' | 'stdio'> = {},
): Ended {
  const { error, status, stdout, stderr } = spawnSync(program, [...args], {
    maxBuffer: 2 ** 26,
    ...options,
    encoding: 'utf8',
  });
  if (error) throw new Error(`${program} cannot run: ${error.message}`, { cause: error });
  return { status, stdout, stderr };
}

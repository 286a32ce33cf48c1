import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { compileCache, root } from '../../stack/process.ts';

const main = join(root, 'services/demo/src/headset/main.ts');
const env = { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: compileCache };

/** Starts the simulated headset's CLI. Its standard error is shown. */
export function startHeadsetProcess(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'inherit'], env });
}

/** Runs the CLI once to fill the compile cache, because killed processes do not write to the cache. */
export function fillCompileCache(): void {
  execFileSync(process.execPath, [main, '--help'], { stdio: 'ignore', env });
}

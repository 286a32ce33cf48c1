import { join } from 'node:path';
import { compileCache, root } from '@headset-cloud/demo/stack/process.ts';
import type { FaultName } from './faults/all.ts';

const main = join(root, 'services/demo/src/headset/main.ts');
const faultyMain = join(root, 'tests/conformance/faults/main.ts');

/** Settings with which a simulated headset violates a rule; all are optional. */
export interface Defect {
  readonly fault?: FaultName;
  /** Additional command line options. */
  readonly options?: string;
  /** Shell command before each start. */
  readonly before?: string;
  /** Shell command that runs concurrently; `$1` is the headset's process id. */
  readonly beside?: string;
}

/** Returns the command that starts the simulated headset for the kit (README.md). */
export function simulator({ fault, options = '', before, beside }: Defect = {}): string {
  const start = [
    `export NODE_OPTIONS= NODE_COMPILE_CACHE='${compileCache}';`,
    ...(beside ? [] : ['exec']),
    `'${process.execPath}' --disable-warning=ExperimentalWarning`,
    ...(fault ? [`'${faultyMain}' ${fault}`] : [`'${main}'`]),
    '--server "$HEADSET_SERVER" --key-file "$HEADSET_IDENTITY" --state "$HEADSET_DATA"',
    '--audience "$HEADSET_AUDIENCE" --stdin --quiet',
    options,
  ].join(' ');
  const run = beside ? `${start} & set -- $!; ${beside}; wait` : start;
  return before ? `${before}; ${run}` : run;
}

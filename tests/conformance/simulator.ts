import { join } from 'node:path';
import type { Behaviour } from '@headset-cloud/demo/headset/behaviour.ts';
import { compileCache, root } from '@headset-cloud/demo/stack/process.ts';

const main = join(root, 'services/demo/src/headset/main.ts');

/** The settings with which a simulated headset breaks a rule; all are optional. */
export interface Defect {
  readonly behaviour?: Partial<Behaviour>;
  /** Further options of its command line. */
  readonly options?: string;
  /** Run by the shell before each start. */
  readonly before?: string;
  /** Run by the shell while it runs; `$1` is its process id. */
  readonly beside?: string;
}

/** The command that starts the simulated headset for the kit (README.md). */
export function simulator({ behaviour, options = '', before, beside }: Defect = {}): string {
  const told = { connectionNotices: true, ...behaviour };
  const start = [
    `export NODE_OPTIONS= NODE_COMPILE_CACHE='${compileCache}';`,
    ...(beside ? [] : ['exec']),
    `'${process.execPath}' --disable-warning=ExperimentalWarning '${main}'`,
    '--server "$HEADSET_SERVER" --key-file "$HEADSET_IDENTITY" --state "$HEADSET_DATA"',
    '--audience "$HEADSET_AUDIENCE" --stdin --quiet',
    `--behaviour '${JSON.stringify(told)}'`,
    options,
  ].join(' ');
  const run = beside ? `${start} & set -- $!; ${beside}; wait` : start;
  return before ? `${before}; ${run}` : run;
}

import { fail, runHeadsets } from '@headset-cloud/demo/headset/cli.ts';
import { headsetWith } from './all.ts';

/** Runs the simulated headset with a fault: its name, then the arguments of the simulated headset. */
const [name = '', ...args] = process.argv.slice(2);
runHeadsets(args, (options) => headsetWith(name, options)).catch(fail);

import { fail, runHeadsets } from '@headset-cloud/demo/headset/cli.ts';
import { headsetWith } from './all.ts';

/** Runs the simulated headset with a fault. Arguments: the fault's name, then the simulated headset's arguments. */
const [name = '', ...args] = process.argv.slice(2);
runHeadsets(args, (options) => headsetWith(name, options)).catch(fail);

import { fail, runHeadsets } from './cli.ts';

runHeadsets(process.argv.slice(2)).catch(fail);

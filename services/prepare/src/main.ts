import { constants } from 'node:os';
import { main } from '@headset-cloud/kit/process.ts';
import { prepare } from './prepare.ts';

await main('prepare', async () => {
  const signal = await prepare(process.env);
  // Not 0: whoever started it (a Job) must not take it for done.
  if (signal) process.exit(128 + constants.signals[signal]);
});

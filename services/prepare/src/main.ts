import { constants } from 'node:os';
import { main } from '@headset-cloud/process/process.ts';
import { prepare } from './prepare.ts';

await main('prepare', async () => {
  const signal = await prepare(process.env);
  // Not 0: a Job must not count an interrupted run as completed.
  if (signal) process.exit(128 + constants.signals[signal]);
});

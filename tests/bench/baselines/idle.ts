import { serveCommands } from '../lib/worker.ts';
import { serveHeadsets } from './headsets.ts';

/**
 * Baseline of the idle measure: a bare grpc-js server that welcomes the same simulated headsets on the
 * same stream and knows nothing about them.
 */
let streams: readonly unknown[] = [];
const commands = {
  start: async (_: object): Promise<string> => {
    const served = await serveHeadsets();
    streams = served.streams;
    return served.address;
  },
  streams: async (_: object) => streams.length,
};
export type IdleBaseline = typeof commands;
serveCommands(commands);

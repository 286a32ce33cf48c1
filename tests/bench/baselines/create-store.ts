import { serveCommands } from '../lib/worker.ts';
import { startCreateHandler } from './create-handler.ts';

/** The second handler of the create baseline in its own process, for the real stack. */
const commands = { start: startCreateHandler };
export type CreateStoreBaseline = typeof commands;
serveCommands(commands);

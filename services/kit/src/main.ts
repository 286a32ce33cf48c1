import { inspect } from 'node:util';
import { stdSerializers } from 'pino';
import { ConfigError } from './config.ts';
import { createLogger, flushLogs } from './logger.ts';
import { withoutPassword } from './redact.ts';

/**
 * Runs a process and ends it. An error of `run` becomes one more line of the process's log. The exit status is 2 for a
 * wrong configuration and 1 for any other error.
 */
export async function main(service: string, run: () => Promise<void>): Promise<void> {
  const fail = async (error: unknown): Promise<never> => {
    // LOG_LEVEL may be the wrong setting; no level hides a fatal line.
    const logger = createLogger({ service, level: 'fatal' }).child({}, { serializers: { err: toldOf } });
    if (error instanceof ConfigError) {
      logger.fatal({ problems: error.problems }, 'wrong configuration');
      return end(2);
    }
    logger.fatal({ err: error }, 'the process ends because of an unexpected error');
    return end(1);
  };
  let failed = false;
  process.on('uncaughtException', (error) => {
    // Node.js would print a second one as it is.
    if (failed) return;
    failed = true;
    fail(error).catch(() => process.exit(1));
  });
  try {
    await run();
  } catch (error) {
    return fail(error);
  }
  return end(0);
}

async function end(status: number): Promise<never> {
  try {
    await flushLogs();
  } finally {
    process.exit(status);
  }
}

/** The parts of an error that a log may contain: drivers put whole connection strings into messages. */
function toldOf(error: unknown): { type: string; message: string; stack: string } {
  const { type, message, stack } = stdSerializers.err(
    error instanceof Error ? error : new Error(inspect(error)),
  );
  return { type, message: withoutPassword(message), stack: withoutPassword(stack) };
}

import { inspect } from 'node:util';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import { ConfigError, type ConfigOf } from '@headset-cloud/runtime/config.ts';
import { Lifecycle, untilSignal } from '@headset-cloud/runtime/lifecycle.ts';
import { listenerLimits } from '@headset-cloud/runtime/listeners/config.ts';
import { type Listeners, openListeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import { createLogger, flushLogs, type Logger } from '@headset-cloud/runtime/logger.ts';
import { withoutPassword } from '@headset-cloud/runtime/redact.ts';
import { createStartUp, StartStoppedError, type StartUp } from '@headset-cloud/runtime/start-up.ts';
import { stdSerializers } from 'pino';
import type { Registry } from 'prom-client';
import { adminTokensOf, createAdminServer } from './admin-server.ts';
import type { processConfig } from './process-config.ts';
import { createMetrics, registerReadiness } from './process-metrics.ts';

/** Common parts of every process of the platform: log, metrics, listeners, start and stop. */
export interface PlatformProcess {
  readonly metrics: Registry;
  /** Logger without the name of a service. */
  readonly rootLogger: Logger;
  readonly logger: Logger;
  readonly listeners: Listeners;
  readonly startUp: StartUp;
  readonly lifecycle: Lifecycle;
  /** Stops a process that cannot continue; `run` throws the error. */
  fail(error: Error): void;
  /** Opens the admin port for operators and monitoring, with these RPCs for operators. */
  serveAdmin(bindings: readonly RpcBinding[]): Promise<void>;
  /**
   * Runs `start`, reports ready, and stops everything after SIGTERM or SIGINT, also during a start that waits for a
   * store. Throws the error of `start`, or the error given to `fail`.
   */
  run(start: () => Promise<void>): Promise<void>;
}

/** Creates the process and handles signals from now on. `service`: its name in logs and metrics. */
export function createProcess(service: string, config: ConfigOf<typeof processConfig>): PlatformProcess {
  const metrics = createMetrics(service);
  const rootLogger = createLogger({ level: config.LOG_LEVEL, metrics });
  const logger = rootLogger.child({ service });
  const listeners = openListeners(listenerLimits(config), metrics);
  const startUp = createStartUp(logger);
  const lifecycle = new Lifecycle(logger, {
    stopDelayMs: config.STOP_DELAY_MS,
    stopGraceMs: config.STOP_GRACE_MS,
    waitsFor: () => startUp.waitsFor(),
  });
  registerReadiness(metrics, lifecycle);
  const fatal = Promise.withResolvers<never>();
  // Resolves on a stop signal or a permanent failure while the start still waits for a store.
  const ended = Promise.race([untilSignal(), fatal.promise]);
  ended.catch(() => {}).finally(() => startUp.stop());
  return {
    ...{ metrics, rootLogger, logger, listeners, startUp, lifecycle },
    fail: (error) => fatal.reject(error),
    serveAdmin: (bindings) =>
      lifecycle.start(
        createAdminServer({
          ...{ service, bindings, metrics, logger, listeners },
          listen: config.ADMIN_LISTEN,
          ...adminTokensOf(config),
          notReady: () => lifecycle.notReady(),
          warnings: () => lifecycle.warnings(),
        }),
      ),
    async run(start) {
      try {
        await start();
        lifecycle.complete();
        logger.info('ready');
      } catch (error) {
        if (!(error instanceof StartStoppedError)) throw error;
        logger.info('stopped before the start was complete');
      }
      try {
        logger.info({ signal: await ended }, 'stopping');
      } finally {
        await lifecycle.stop();
      }
    },
  };
}

/**
 * Runs `run` and then ends the process. Logs an error of `run`. The exit status is 2 for an invalid configuration, and
 * 1 for any other error.
 */
export async function main(service: string, run: () => Promise<void>): Promise<void> {
  const fail = async (error: unknown): Promise<never> => {
    // Does not use LOG_LEVEL, which may be the invalid setting. A fatal line is logged at every level.
    const logger = createLogger({ service, level: 'fatal' }).child({}, { serializers: { err: loggable } });
    if (error instanceof ConfigError) {
      logger.fatal({ problems: error.problems }, 'wrong configuration');
      return end(2);
    }
    logger.fatal({ err: error }, 'the process ends because of an unexpected error');
    return end(1);
  };
  let failed = false;
  process.on('uncaughtException', (error) => {
    // The first error is logged and ends the process; a second one is ignored, so that Node.js does not print it.
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

/**
 * Returns the parts of an error that may be logged. Masks passwords, because drivers put connection strings in
 * messages.
 */
function loggable(error: unknown): { type: string; message: string; stack: string } {
  const { type, message, stack } = stdSerializers.err(
    error instanceof Error ? error : new Error(inspect(error)),
  );
  return { type, message: withoutPassword(message), stack: withoutPassword(stack) };
}

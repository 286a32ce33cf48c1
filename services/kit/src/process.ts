import type { Registry } from 'prom-client';
import { adminTokensOf, createAdminServer } from './admin-server.ts';
import type { ConfigOf } from './config.ts';
import { Lifecycle, untilSignal } from './lifecycle.ts';
import { listenerLimits } from './listeners/config.ts';
import { type Listeners, openListeners } from './listeners/http-listener.ts';
import { createLogger, type Logger } from './logger.ts';
import type { processConfig } from './process-config.ts';
import { createMetrics, showReadiness } from './process-metrics.ts';
import type { RpcBinding } from './rpc/types.ts';
import { createStartUp, StartStoppedError, type StartUp } from './start-up.ts';

/** What every process of the platform has around its work: log, metrics, listeners, start and end. */
export interface PlatformProcess {
  readonly metrics: Registry;
  /** Without the name of a service. */
  readonly rootLogger: Logger;
  readonly logger: Logger;
  readonly listeners: Listeners;
  readonly startUp: StartUp;
  readonly lifecycle: Lifecycle;
  /** The process cannot continue: it stops, and `run` throws this. */
  fail(error: Error): void;
  /** Opens the port of operators and monitoring, with these calls of ctl. */
  serveAdmin(bindings: readonly RpcBinding[]): Promise<void>;
  /**
   * Starts the rest by `start`, is ready then, and stops everything after SIGTERM or SIGINT; a start that waits for a
   * store ends then, too. Throws what `start` throws, and what `fail` was called with.
   */
  run(start: () => Promise<void>): Promise<void>;
}

/** Signals count from here on. `service`: its name in the log and in the metrics. */
export function createProcess(service: string, config: ConfigOf<typeof processConfig>): PlatformProcess {
  const metrics = createMetrics(service);
  const rootLogger = createLogger({ level: config.LOG_LEVEL, metrics });
  const logger = rootLogger.child({ service });
  const listeners = openListeners(listenerLimits(config), metrics);
  const startUp = createStartUp(logger);
  const lifecycle = new Lifecycle(logger, {
    turnAwayMs: config.TURN_AWAY_MS,
    stopGraceMs: config.STOP_GRACE_MS,
    waitsFor: () => startUp.waitsFor(),
  });
  showReadiness(metrics, lifecycle);
  const fatal = Promise.withResolvers<never>();
  // Resolves when the process is told to stop, or fails for good, while the start still waits for a store.
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
        logger.info('told to stop before the start was complete');
      }
      try {
        logger.info({ signal: await ended }, 'stopping');
      } finally {
        await lifecycle.stop();
      }
    },
  };
}

import type { Registry } from 'prom-client';
import { adminTokensOf, createAdminServer } from './admin-server.ts';
import { commonConfig } from './common-config.ts';
import type { ConfigOf } from './config.ts';
import { Lifecycle, untilSignal } from './lifecycle.ts';
import { listenerConfig, listenerLimits } from './listeners/config.ts';
import { type Listeners, openListeners } from './listeners/http-listener.ts';
import { createLogger, type Logger } from './logger.ts';
import { createMetrics, showReadiness } from './process-metrics.ts';
import type { RpcBinding } from './rpc/types.ts';
import { createStartUp, StartStoppedError, type StartUp } from './start-up.ts';

/** Configuration keys of `createProcess`, for a process without stores; part of commonConfig. */
export const processConfig = {
  LOG_LEVEL: commonConfig.LOG_LEVEL,
  ADMIN_LISTEN: commonConfig.ADMIN_LISTEN,
  ADMIN_TOKEN: commonConfig.ADMIN_TOKEN,
  ADMIN_TOKEN_BEFORE: commonConfig.ADMIN_TOKEN_BEFORE,
  METRICS_TOKEN: commonConfig.METRICS_TOKEN,
  TURN_AWAY_MS: commonConfig.TURN_AWAY_MS,
  STOP_GRACE_MS: commonConfig.STOP_GRACE_MS,
  ...listenerConfig,
} as const;

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
  /** Opens the admin port for operators and monitoring, with these calls of ctl. */
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
    turnAwayMs: config.TURN_AWAY_MS,
    stopGraceMs: config.STOP_GRACE_MS,
    waitsFor: () => startUp.waitsFor(),
  });
  showReadiness(metrics, lifecycle);
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

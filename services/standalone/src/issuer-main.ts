import { adminTokensOf, createAdminServer } from '@headset-cloud/kit/admin-server.ts';
import { ConfigError, readConfig } from '@headset-cloud/kit/config.ts';
import { createMetrics, main } from '@headset-cloud/kit/host.ts';
import { Lifecycle, untilSignal } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createBuiltinIssuer } from './builtin-issuer.ts';
import { standaloneConfig } from './config.ts';

// The issuer alone, for `make up STACK=real` and trials, in place of a customer's identity provider.
await main('issuer', async () => {
  const signal = untilSignal();
  if (process.env['NODE_ENV'] === 'production') {
    const reason =
      'NODE_ENV is production, and this issuer is for trials: its clients stand in a file, and it speaks plain HTTP. Give the gateway your own provider: OIDC_ISSUER=https://id.example.com';
    throw new ConfigError([{ setting: 'NODE_ENV', reason }]);
  }
  const config = readConfig(standaloneConfig, process.env);
  const logger = createLogger({ service: 'issuer', level: config.LOG_LEVEL });
  const lifecycle = new Lifecycle(logger, {
    turnAwayMs: config.TURN_AWAY_MS,
    stopGraceMs: config.STOP_GRACE_MS,
  });
  await lifecycle.start(
    createAdminServer({
      service: 'issuer',
      listen: config.ADMIN_LISTEN,
      ...adminTokensOf(config),
      bindings: [],
      metrics: createMetrics('issuer'),
      notReady: () => lifecycle.notReady(),
      logger,
    }),
  );
  await lifecycle.start(createBuiltinIssuer(config, logger));
  lifecycle.complete();
  logger.info('ready');
  logger.info({ signal: await signal }, 'stopping');
  await lifecycle.stop();
});

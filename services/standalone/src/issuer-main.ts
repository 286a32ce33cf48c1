import { readConfig } from '@headset-cloud/kit/config.ts';
import { main } from '@headset-cloud/kit/host.ts';
import { untilSignal } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createBuiltinIssuer } from './builtin-issuer.ts';
import { standaloneConfig } from './config.ts';

// The issuer alone, for `make up STACK=real`, in place of a customer's identity provider.
await main(async () => {
  const signal = untilSignal();
  const config = readConfig(standaloneConfig, process.env);
  const issuer = createBuiltinIssuer(config, createLogger({ service: 'issuer', level: config.LOG_LEVEL }));
  await issuer.start();
  await signal;
  await issuer.stop();
});

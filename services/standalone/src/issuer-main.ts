import { createProcess, main } from '@headset-cloud/process/process.ts';
import { ConfigError, readConfig } from '@headset-cloud/runtime/config.ts';
import { createBuiltinIssuer } from './builtin-issuer.ts';
import { standaloneConfig } from './config.ts';

// The issuer alone, for `make up STACK=real` and trials, in place of a customer's identity provider.
await main('issuer', async () => {
  if (process.env['NODE_ENV'] === 'production') {
    const reason =
      'NODE_ENV is production, and this issuer is for trials: its clients are stored in a file, and it speaks plain HTTP. Configure your own provider in the gateway: OIDC_ISSUER=https://id.example.com';
    throw new ConfigError([{ setting: 'NODE_ENV', reason }]);
  }
  const config = readConfig(standaloneConfig, process.env);
  const own = createProcess('issuer', config);
  await own.serveAdmin([]);
  await own.run(() => own.lifecycle.start(createBuiltinIssuer(config, own.logger)));
});

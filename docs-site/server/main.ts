import { createProcess, main } from '@headset-cloud/process/process.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createSiteServer } from './app.ts';
import { siteConfig } from './config.ts';
import { readContent } from './content.ts';

await main('docs-site', async () => {
  const config = readConfig(siteConfig, process.env);
  const content = readContent(config.SITE_DIST);
  const own = createProcess('docs-site', config);
  await own.serveAdmin([]);
  await own.run(() => own.lifecycle.start(createSiteServer(content, config.SITE_LISTEN, own)));
});

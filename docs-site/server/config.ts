import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { processConfig } from '@headset-cloud/process/process-config.ts';
import { address, text } from '@headset-cloud/runtime/config.ts';

/** Default folder of the built site: the folder of this file in the bundle, `../dist` for the source. */
function defaultDist(): string {
  const { dirname } = import.meta;
  return existsSync(join(dirname, 'server.json')) ? dirname : resolve(dirname, '../dist');
}

/** Settings of the site's server. */
export const siteConfig = {
  ...processConfig,
  // All readers may have the same address: that of a proxy.
  LISTENER_CONNECTIONS_PER_ADDRESS: { ...processConfig.LISTENER_CONNECTIONS_PER_ADDRESS, default: 4000 },
  SITE_LISTEN: address({
    doc: 'Address and port of the site.',
    example: '0.0.0.0:8080',
    default: { host: '0.0.0.0', port: 8080 },
  }),
  SITE_DIST: text({
    doc: 'Folder of the built site.',
    example: 'docs-site/dist',
    default: defaultDist(),
  }),
} as const;

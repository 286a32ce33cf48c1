import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { defaultListeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { createSiteServer } from '../../server/app.ts';
import { readContent } from '../../server/content.ts';

export const dist = resolve(process.env['SITE_DIST'] || resolve(import.meta.dirname, '../../dist'));

/** All routes of the site, and a path that does not exist. */
export const routes = [
  '/',
  '/docs',
  '/docs/introduction/about',
  '/docs/introduction/preparation',
  '/docs/introduction/authentication',
  '/docs/introduction/tutorial',
  '/docs/introduction/sora',
  '/docs/extension/events',
  '/docs/extension/deliveries',
  '/docs/extension/test-callbacks',
  '/docs/extension/event-types',
  '/docs/extension/device-statuses',
  '/docs/extension/hc',
  '/apis/v1/cws_api',
  '/apis/v1/cws_notification',
  '/apis/v1/cws_presigned_url',
  '/apis/v1/cws_extension',
  '/information',
  '/no-such-page',
] as const;

export interface Site {
  readonly url: string;
  readonly port: number;
  readonly metrics: Registry;
  stop(forMs?: number): Promise<void>;
}

/** Starts the site's server on a free port. */
export async function startSite(folder = dist): Promise<Site> {
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run "make site-build" first`);
  const metrics = new Registry();
  const parts = { listeners: defaultListeners, metrics, logger: createLogger({ level: 'silent' }) };
  const server = createSiteServer(readContent(folder), { host: '127.0.0.1', port: 0 }, parts);
  await server.start();
  const port = server.port();
  return { url: `http://127.0.0.1:${port}`, port, metrics, stop: (forMs) => server.stop(forMs) };
}

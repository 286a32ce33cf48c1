import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Running, start } from '../../server/run.ts';
import { readServerSettings } from '../../server/settings.ts';

export const dist = resolve(process.env['SITE_DIST'] || resolve(import.meta.dirname, '../../dist'));

/** Every route of the specification and of what goes beyond it, and a path that is none. */
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

export interface Site extends Running {
  readonly url: string;
  readonly adminUrl: string;
}

/** The production build behind the real server, on free ports. */
export async function startSite(env: Record<string, string> = {}): Promise<Site> {
  if (!existsSync(dist)) throw new Error('docs-site/dist is missing: run "make site-build" first');
  const running = await start(
    readServerSettings({ SITE_LISTEN: '127.0.0.1:0', ADMIN_LISTEN: '127.0.0.1:0', SITE_DIST: dist, ...env }),
  );
  return {
    ...running,
    url: `http://127.0.0.1:${running.port}`,
    adminUrl: `http://127.0.0.1:${running.adminPort}`,
  };
}

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildAdmin, Metrics } from './admin.ts';
import { buildApp } from './app.ts';
import { readContent } from './content.ts';
import type { ListenAddress, ServerSettings } from './settings.ts';

export interface Running {
  readonly port: number;
  readonly adminPort: number;
  /** Not ready at once; continues serving for a time; open answers may end; then both ports close. */
  stop(): Promise<void>;
}

async function listen(server: Server, { host, port }: ListenAddress, name: string): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new Error(`${name}: port ${port} is taken by another process: stop it, or choose another port.`, {
        cause: error,
      });
    }
    throw new Error(`${name}: ${message}`, { cause: error });
  }
  return (server.address() as AddressInfo).port;
}

/** Opens the folder and both ports. `wait` resolves after a number of milliseconds; tests replace it. */
export async function start(
  settings: ServerSettings,
  wait: (ms: number) => Promise<unknown> = sleep,
): Promise<Running> {
  const metrics = new Metrics();
  let ready = false;
  const app = buildApp(readContent(settings.dist), (status) => metrics.count(status));
  const { adminToken: token, metricsToken } = settings;
  const admin = buildAdmin({ token, metricsToken, metrics, ready: () => ready });
  const adminPort = await listen(admin, settings.adminListen, 'ADMIN_LISTEN');
  let port: number;
  try {
    port = await listen(app, settings.listen, 'SITE_LISTEN');
  } catch (error) {
    admin.close();
    throw error;
  }
  ready = true;
  return {
    port,
    adminPort,
    async stop() {
      ready = false;
      await wait(settings.turnAwayMs);
      const closed = once(app, 'close');
      app.close();
      // Connections that were busy a moment ago are idle now: each answer from here on ends its own.
      const idle = setInterval(() => app.closeIdleConnections(), 100);
      const timer = setTimeout(() => app.closeAllConnections(), settings.stopGraceMs);
      await closed;
      clearInterval(idle);
      clearTimeout(timer);
      admin.close();
      admin.closeAllConnections();
    },
  };
}

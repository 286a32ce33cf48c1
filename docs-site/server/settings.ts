import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface ServerSettings {
  readonly listen: ListenAddress;
  readonly adminListen: ListenAddress;
  readonly adminToken: string | undefined;
  /** The folder that the build made. */
  readonly dist: string;
  /** How long open answers may take after SIGTERM. */
  readonly drainTimeoutMs: number;
}

export class SettingsError extends Error {}

function address(name: string, text: string): ListenAddress {
  const match = /^(?:(\[[^\]]+\]|[^:]*):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    throw new SettingsError(`${name}: "${text}" is no address (host:port or port)`);
  return { host: (match[1] ?? '').replace(/^\[|\]$/g, '') || '0.0.0.0', port };
}

/** The built server stands in the folder that it serves; its source stands beside it. */
function ownDist(): string {
  const { dirname } = import.meta;
  return existsSync(join(dirname, 'server.json')) ? dirname : resolve(dirname, '../dist');
}

/** Reads the settings; `X_FILE` names a file that holds the secret X. */
export function readServerSettings(env: Readonly<Record<string, string | undefined>>): ServerSettings {
  const listen = address('SITE_LISTEN', env['SITE_LISTEN'] || '0.0.0.0:8080');
  const adminListen = address('ADMIN_LISTEN', env['ADMIN_LISTEN'] || '127.0.0.1:9100');
  let adminToken = env['ADMIN_TOKEN'] || undefined;
  const tokenFile = env['ADMIN_TOKEN_FILE'];
  if (tokenFile) {
    try {
      adminToken = readFileSync(tokenFile, 'utf8').trim();
    } catch (error) {
      throw new SettingsError(`ADMIN_TOKEN_FILE: ${(error as Error).message}`);
    }
  }
  if (!adminToken && !['127.0.0.1', '::1', 'localhost'].includes(adminListen.host)) {
    throw new SettingsError(
      `ADMIN_LISTEN: ${adminListen.host}:${adminListen.port} is reachable from outside, and ADMIN_TOKEN is not set. ` +
        'Set ADMIN_TOKEN (or ADMIN_TOKEN_FILE), or listen on 127.0.0.1.',
    );
  }
  const drain = env['DRAIN_TIMEOUT_MS'] || '10000';
  if (!/^\d{1,6}$/.test(drain))
    throw new SettingsError(`DRAIN_TIMEOUT_MS: "${drain}" is no number of milliseconds`);
  return Object.freeze({
    listen,
    adminListen,
    adminToken,
    dist: resolve(env['SITE_DIST'] || ownDist()),
    drainTimeoutMs: Number(drain),
  });
}

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
  /** Reads /metrics as well, and nothing else. */
  readonly metricsToken: string | undefined;
  /** The folder that the build made. */
  readonly dist: string;
  /** How long it continues serving, not ready, after SIGTERM; milliseconds. */
  readonly turnAwayMs: number;
  /** How long open answers may take after that; milliseconds. */
  readonly stopGraceMs: number;
}

/** One setting that is wrong, as the platform's processes log it (services/kit/src/config.ts). */
export interface SettingsProblem {
  readonly setting: string;
  readonly reason: string;
}

/** Wrong settings, all of them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly SettingsProblem[];

  constructor(problems: readonly SettingsProblem[]) {
    super(problems.map(({ reason }) => reason).join('\n'));
    this.problems = problems;
  }
}

function address(text: string): ListenAddress {
  const match = /^(?:(\[[^\]]+\]|[^:]*):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) throw new Error(`"${text}" is no address (host:port or port)`);
  return { host: (match[1] ?? '').replace(/^\[|\]$/g, '') || '0.0.0.0', port };
}

/** The built server stands in the folder that it serves; its source stands beside it. */
function ownDist(): string {
  const { dirname } = import.meta;
  return existsSync(join(dirname, 'server.json')) ? dirname : resolve(dirname, '../dist');
}

const milliseconds =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new Error(`"${text}" is no number of milliseconds from ${min} to ${max}`);
    return value;
  };

/**
 * Reads the settings; `X_FILE` names a file that holds the secret X. Names, defaults and bounds of those that the
 * platform's processes have are theirs (services/kit/src/common-config.ts). Throws a SettingsError.
 */
export function readServerSettings(env: Readonly<Record<string, string | undefined>>): ServerSettings {
  const problems: SettingsProblem[] = [];
  const wrong = (setting: string, reason: string) => {
    problems.push({ setting, reason: `${setting}: ${reason}` });
  };
  const read = <T>(setting: string, byDefault: string, parse: (text: string) => T): T => {
    try {
      return parse(env[setting] || byDefault);
    } catch (error) {
      wrong(setting, (error as Error).message);
      return parse(byDefault);
    }
  };
  const listen = read('SITE_LISTEN', '0.0.0.0:8080', address);
  const adminListen = read('ADMIN_LISTEN', '127.0.0.1:9100', address);
  const turnAwayMs = read('TURN_AWAY_MS', '0', milliseconds(0, 120_000));
  const stopGraceMs = read('STOP_GRACE_MS', '10000', milliseconds(100, 600_000));
  const secret = (setting: string): string | undefined => {
    const file = env[`${setting}_FILE`];
    if (!file) return env[setting] || undefined;
    try {
      return readFileSync(file, 'utf8').trim();
    } catch (error) {
      wrong(`${setting}_FILE`, (error as Error).message);
      return undefined;
    }
  };
  const adminToken = secret('ADMIN_TOKEN');
  const metricsToken = secret('METRICS_TOKEN');
  const unread = problems.some(({ setting }) => setting === 'ADMIN_TOKEN_FILE');
  if (!adminToken && !unread && !['127.0.0.1', '::1', 'localhost'].includes(adminListen.host)) {
    wrong(
      'ADMIN_TOKEN',
      `not set, but ADMIN_LISTEN (${adminListen.host}:${adminListen.port}) is reachable from outside. ` +
        'Set ADMIN_TOKEN (or ADMIN_TOKEN_FILE), or listen on 127.0.0.1.',
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const dist = resolve(env['SITE_DIST'] || ownDist());
  return Object.freeze({ listen, adminListen, adminToken, metricsToken, dist, turnAwayMs, stopGraceMs });
}

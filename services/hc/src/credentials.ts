import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, exitCodes, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { readSecretFile, writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { userText } from '@headset-cloud/runtime/user-text.ts';
import { configFolder, storing } from './folders.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Credentials for the API. */
export interface Credentials {
  /** Without /v1 and without a trailing slash. */
  readonly apiUrl: string;
  /** The issuer's token endpoint (client credentials); absent only if there is an access token. */
  readonly tokenUrl?: string;
  readonly applicationId: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** A token from elsewhere, instead of a client and its secret. */
  readonly accessToken?: string;
}

/** Values that `hc login` stores. */
export type StoredCredentials = Required<Omit<Credentials, 'accessToken'>> & {
  /** True if secrets may be sent over plain http to another machine. */
  readonly allowHttp?: boolean;
};

/** Path of the credentials file of a profile. */
export function credentialsFile(env: Env, profile: string): string {
  return join(configFolder(env), `${profile}.json`);
}

/** Stores the values of `hc login` in a file that only this user can read. */
export function storeCredentials(env: Env, profile: string, credentials: StoredCredentials): string {
  const path = credentialsFile(env, profile);
  storing('The login', path, 'XDG_CONFIG_HOME', () =>
    writeSecretFile(path, `${JSON.stringify(credentials, null, 2)}\n`),
  );
  return path;
}

/**
 * Reads the environment and the file of `hc login`; a variable overrides the file. Throws CliError if a value is
 * missing, or the file is not safe.
 */
export function readCredentials(
  env: Env,
  given: { readonly profile: string; readonly application?: string },
): Credentials {
  const stored = readStored(env, given.profile);
  const value = (variable: string) => envValue(env, variable);
  const accessToken = value('HC_ACCESS_TOKEN');
  const apiUrl = value('HC_API_URL') ?? stored.apiUrl;
  const tokenUrl = value('HC_TOKEN_URL') ?? stored.tokenUrl;
  const applicationId = given.application ?? value('HC_APPLICATION') ?? stored.applicationId;
  const clientId = value('HC_CLIENT_ID') ?? stored.clientId;
  const clientSecret = secretFrom(env) ?? stored.clientSecret;
  const needed = {
    HC_API_URL: apiUrl,
    HC_APPLICATION: applicationId,
    ...(accessToken === undefined && {
      HC_TOKEN_URL: tokenUrl,
      HC_CLIENT_ID: clientId,
      HC_CLIENT_SECRET: clientSecret,
    }),
  };
  const missing = Object.entries(needed)
    .filter(([, one]) => !one)
    .map(([variable]) => variable);
  if (missing.length > 0 || !apiUrl || !applicationId) {
    throw new CliError(
      exitCodes.unauthenticated,
      `You are not logged in: run hc login, or set ${missing.join(', ')}.`,
    );
  }
  const allowHttp = stored.allowHttp === true || env['HC_ALLOW_HTTP'] === '1';
  return {
    apiUrl: apiAddress(apiUrl, allowHttp),
    ...(tokenUrl && { tokenUrl: safeAddress('The token endpoint', tokenUrl, allowHttp) }),
    applicationId,
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret }),
    ...(accessToken && { accessToken }),
  };
}

/** Value of a variable. An empty variable counts as absent. */
export function envValue(env: Env, variable: string): string | undefined {
  return env[variable] || undefined;
}

/** The secret in the environment, directly or as a file. */
export function secretFrom(env: Env): string | undefined {
  const secret = envValue(env, 'HC_CLIENT_SECRET');
  const path = envValue(env, 'HC_CLIENT_SECRET_FILE');
  if (secret !== undefined || path === undefined) return secret;
  try {
    return userText(readFileSync(path)).trim();
  } catch (cause) {
    throw usageError(`HC_CLIENT_SECRET_FILE: ${(cause as Error).message}`, { cause });
  }
}

function readStored(env: Env, profile: string): Partial<StoredCredentials> {
  const path = credentialsFile(env, profile);
  const text = readSecretFile(path, 'The file of the credentials');
  if (text === undefined) return {};
  try {
    const stored: unknown = JSON.parse(text);
    if (typeof stored === 'object' && stored !== null && !Array.isArray(stored)) return stored;
  } catch {
    // Reported below, because the parser's message would contain a part of the file.
  }
  throw usageError(`The file of the credentials, ${path}, is damaged. Run hc login to write it again.`);
}

/** The API's address without /v1 and without a trailing slash. Throws CliError. */
export function apiAddress(text: string, allowHttp: boolean): string {
  return safeAddress("The API's address", text, allowHttp).replace(/\/+(v1\/*)?$/, '');
}

/**
 * Checks an address to which a secret may be sent: https, or http on this machine. Keeps its trailing slash. Throws
 * CliError, also for an address with a password, a query or a fragment.
 */
export function safeAddress(what: string, text: string, allowHttp: boolean): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text)) {
    throw usageError(
      `${what}, ${JSON.stringify(text)}, is not an http or https address. Example: https://api.example.com`,
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw usageError(`${what} must have no user, password, query or fragment.`);
  }
  if (url.protocol === 'http:' && !allowHttp && !isThisMachine(url.hostname)) {
    throw usageError(
      `${what}, ${text}, is plain http, where the secret and tokens can be intercepted. Use https, or allow http with hc login --allow-http (HC_ALLOW_HTTP=1).`,
    );
  }
  return url.href;
}

/** True for names and addresses of this machine. */
export function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

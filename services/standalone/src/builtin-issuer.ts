import { readFile } from 'node:fs/promises';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { userText } from '@headset-cloud/runtime/user-text.ts';
import type { StandaloneConfig } from './config.ts';
import { type Issuer, type IssuerClient, startIssuer } from './issuer.ts';

/** The audience of the built-in issuer's tokens; the gateway's OIDC_AUDIENCE has the same value. */
export const issuerAudience = 'urn:headset-cloud:api';

/** Scopes that clients may request (rule C11). */
const scopes = [
  'cws:application:read',
  'cws:application:write',
  'cws:device:read',
  'cws:device:write',
  'cws:communication-service',
];

/** The issuer. Its clients are in a file that is read at each token request. */
export function createBuiltinIssuer(
  config: Pick<StandaloneConfig, 'ISSUER_LISTEN' | 'ISSUER_PUBLIC_URL' | 'ISSUER_CLIENTS_FILE' | 'DATA_DIR'>,
  logger: Logger,
): Component {
  let issuer: Issuer | undefined;
  return {
    name: 'issuer',
    async start() {
      // Reads the file once, so that a damaged file fails the start instead of each token request.
      await readClients(config.ISSUER_CLIENTS_FILE);
      issuer = await startIssuer({
        listen: config.ISSUER_LISTEN,
        publicUrl: config.ISSUER_PUBLIC_URL?.replace(/\/$/, ''),
        clients: () => readClients(config.ISSUER_CLIENTS_FILE),
        audience: issuerAudience,
        scopes,
        dataDir: config.DATA_DIR,
        logger,
      });
    },
    async stop() {
      await issuer?.close();
      issuer = undefined;
    },
    notReady: () => (issuer ? undefined : 'not started'),
  };
}

async function readClients(file: string): Promise<IssuerClient[]> {
  try {
    const clients = JSON.parse(userText(await readFile(file))) as Partial<IssuerClient>[];
    if (clients.some(({ clientId, clientSecret }) => !clientId || !clientSecret)) {
      throw new Error('a client has no clientId, or no clientSecret');
    }
    return clients as IssuerClient[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Error(`ISSUER_CLIENTS_FILE ${file} cannot be read: ${(error as Error).message}`);
  }
}

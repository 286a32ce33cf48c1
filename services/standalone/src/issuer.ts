import { createServer, type RequestListener } from 'node:http';
import { addressText, type ListenAddress } from '@headset-cloud/runtime/config.ts';
import { closeNow, listenOn } from '@headset-cloud/runtime/http-listen.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Adapter, Configuration } from 'oidc-provider';
import { type IssuerSecrets, loadIssuerSecrets } from './issuer-secrets.ts';

/** An integrator's client at the issuer. */
export interface IssuerClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface IssuerOptions {
  /** Port 0: the system chooses. With a fixed port, the `iss` of tokens stays the same after a restart. */
  readonly listen: ListenAddress;
  /** Address for clients, without a slash at the end; default: the listen address. */
  readonly publicUrl?: string | undefined;
  /** Returns the current clients; called at each token request, so that new ones need no restart. */
  readonly clients: () => readonly IssuerClient[] | Promise<readonly IssuerClient[]>;
  /** The audience of the access tokens: the gateway's OIDC_AUDIENCE. */
  readonly audience: string;
  /** The scopes that clients may request. */
  readonly scopes: readonly string[];
  /** Folder of the signing key, which keeps tokens valid after a restart. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** How long access tokens are valid; seconds. Default 3600. */
  readonly tokenLifetimeS?: number;
}

/** A running issuer. */
export interface Issuer {
  /** The `iss` of its tokens: the gateway's OIDC_ISSUER. */
  readonly issuer: string;
  readonly tokenUrl: string;
  /** Listen address. */
  readonly listensAt: string;
  close(): Promise<void>;
}

/** Maximum time for receiving a request; milliseconds. */
const requestTimeoutMs = 10_000;

type Library = typeof import('oidc-provider');

/**
 * Loads oidc-provider without its warning "Unsupported runtime". oidc-provider expects a Node.js version with an LTS
 * code name, which the first versions of a release line do not have. The library is loaded on use, so that importing
 * this module has no effect.
 */
async function loadLibrary(): Promise<Library> {
  const { warn } = console;
  console.warn = (...parts: unknown[]) => {
    if (!String(parts[0]).includes('Unsupported runtime')) warn(...parts);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}

/**
 * The embedded stack's identity provider (rule C11): a real OIDC issuer in the same process.
 * Clients get JWT access tokens for the one audience by the client credentials grant, with HTTP Basic
 * authentication. In production any OIDC issuer replaces it.
 */
export async function startIssuer(options: IssuerOptions): Promise<Issuer> {
  const { listen, logger } = options;
  const secrets = await loadIssuerSecrets(options.dataDir);
  const library = await loadLibrary();
  // The server listens before the provider exists, because the provider's `iss` may contain the chosen port.
  let handle: RequestListener = (_, res) => res.writeHead(503, { 'Retry-After': '1' }).end();
  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (req, res) => handle(req, res),
  );
  const port = await listenOn(server, listen, 'ISSUER_LISTEN');
  const own = `http://${addressText({ host: listen.host, port })}`;
  const issuer = options.publicUrl ?? own;
  const provider = new library.Provider(issuer, configuration(options, secrets, library.errors));
  provider.on('server_error', (_, error) => logger.error({ err: error }, 'the issuer failed'));
  provider.on('grant.error', (_, error) => logger.info({ error: error.error }, 'token request refused'));
  // The library derives its addresses from the request. Behind a proxy or under another name, clients need the public
  // addresses.
  provider.proxy = true;
  const { host: publicHost, protocol } = new URL(issuer);
  const answer = provider.callback();
  handle = (req, res) => {
    req.headers['x-forwarded-host'] = publicHost;
    req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    return answer(req, res);
  };
  return {
    issuer,
    listensAt: own,
    tokenUrl: `${issuer}/token`,
    close: () => closeNow(server),
  };
}

function configuration(
  options: IssuerOptions,
  secrets: IssuerSecrets,
  errors: Library['errors'],
): Configuration {
  const { audience, scopes } = options;
  const scope = scopes.join(' ');
  const lifetimeS = options.tokenLifetimeS ?? 3600;
  return {
    adapter: (name) => (name === 'Client' ? clientAdapter(options) : emptyAdapter()),
    jwks: { keys: [secrets.signingKey] },
    cookies: { keys: [secrets.cookieKey] },
    scopes: [...scopes],
    responseTypes: [],
    clientAuthMethods: ['client_secret_basic'],
    ttl: { ClientCredentials: lifetimeS },
    routes: { token: '/token', jwks: '/jwks' },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: (_, resource) => {
          if (resource !== audience) throw new errors.InvalidTarget();
          return {
            scope,
            audience,
            accessTokenTTL: lifetimeS,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          };
        },
      },
    },
    renderError: (ctx, out) => {
      ctx.type = 'json';
      ctx.body = JSON.stringify({ error: out.error });
    },
  };
}

/** Finds clients in the configured list. */
function clientAdapter({ clients, scopes }: IssuerOptions): Adapter {
  return {
    ...emptyAdapter(),
    async find(id) {
      const client = (await clients()).find((c) => c.clientId === id);
      return (
        client && {
          client_id: client.clientId,
          client_secret: client.clientSecret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          token_endpoint_auth_method: 'client_secret_basic',
          scope: scopes.join(' '),
        }
      );
    },
  };
}

/** JWT access tokens are not stored, and no other grant is offered, so no store is needed. */
function emptyAdapter(): Adapter {
  const nothing = async () => undefined;
  return {
    find: nothing,
    findByUid: nothing,
    findByUserCode: nothing,
    upsert: nothing,
    consume: nothing,
    destroy: nothing,
    revokeByGrantId: nothing,
  };
}

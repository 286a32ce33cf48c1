import { egressConfig } from '@headset-cloud/outbound/egress-config.ts';
import {
  address,
  type ConfigOf,
  type ConfigSpec,
  choice,
  integer,
  text,
} from '@headset-cloud/runtime/config.ts';

const httpsInProduction = {
  pattern: /^https:/i,
  reason: 'it must begin with https:, because its keys decide who may call',
};
const claimNames = { pattern: /^[^\s,]+(,[^\s,]+)*$/, form: 'a list of claims, separated by commas' };
const httpUrl = { pattern: /^https?:\/\/[^\s?#]+$/i, form: 'an http or https address' };

/** Configuration of the gateway. Limits protect one process; only BODY_LIMIT_BYTES (413) is part of the API. */
export const gatewayConfig = {
  GATEWAY_LISTEN: address({
    doc: 'Listen address of the REST API.',
    example: '0.0.0.0:8080',
    default: { host: '127.0.0.1', port: 8080 },
  }),
  OIDC_ISSUER: text({
    doc: 'Issuer of the access tokens, exactly as in their `iss` claim.',
    example: 'https://id.example.com',
    required: true,
    ...httpUrl,
    productionForm: httpsInProduction,
  }),
  OIDC_AUDIENCE: text({
    doc: 'Required audience of access tokens.',
    example: 'https://api.example.com',
    required: true,
  }),
  OIDC_JWKS_URI: text({
    doc: "Address of the issuer's keys; without it the discovery document names it.",
    example: 'https://id.example.com/jwks',
    pattern: /^https?:\/\/\S+$/i,
    form: 'an http or https address',
    productionForm: httpsInProduction,
  }),
  OIDC_CLIENT_CLAIMS: text({
    doc: 'Claims of the access token that may name the client, in order of preference; the first claim that the token has is used.',
    example: 'appid',
    default: 'client_id,azp',
    ...claimNames,
  }),
  OIDC_SCOPE_CLAIMS: text({
    doc: 'Claims of the access token that may contain scopes, as a space-separated text or a list; all of them count.',
    example: 'scope,scp,roles',
    default: 'scope,scp',
    ...claimNames,
  }),
  OIDC_SCOPE_PREFIX: text({
    doc: 'Prefix that the issuer adds to each scope of this API; scopes without it are ignored. Default: none.',
    example: 'headset-cloud/',
    pattern: /^\S+$/,
    form: 'a text without spaces',
  }),
  OIDC_MISSING_AUDIENCE: choice({
    doc: 'Whether access tokens without `aud` are refused or accepted. Accept them only from an issuer whose tokens have none, and with scopes that are for this API alone. Tokens for another audience are always refused.',
    example: 'accept',
    default: 'refuse',
    words: ['refuse', 'accept'],
  }),
  BODY_LIMIT_BYTES: integer({
    doc: 'Largest request body; a larger body gets 413. Lists of APNs and Wi-Fi networks may have 1 MiB in any case.',
    example: '65536',
    default: 65_536,
    min: 8192,
    max: 16 * 1024 * 1024,
  }),
  UPSTREAM_DEADLINE_MS: integer({
    doc: 'Time limit of one API call for all its calls to services, after which the answer is 503; milliseconds.',
    example: '5000',
    default: 5000,
    min: 10,
    max: 60_000,
  }),
  HEADERS_TIMEOUT_MS: integer({
    doc: 'Maximum time in which a request’s headers arrive; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 100,
    max: 120_000,
  }),
  REQUEST_TIMEOUT_MS: integer({
    doc: 'Maximum time in which a whole request, body included, arrives; milliseconds.',
    example: '30000',
    default: 30_000,
    min: 100,
    max: 300_000,
  }),
  KEEP_ALIVE_TIMEOUT_MS: integer({
    doc: 'Time for which an idle connection stays open; it must exceed the load balancer’s idle time; milliseconds.',
    example: '65000',
    default: 65_000,
    min: 100,
    max: 600_000,
  }),
  SOCKET_STALL_TIMEOUT_MS: integer({
    doc: 'Time without progress of an answer after which the connection is destroyed; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 100,
    max: 600_000,
  }),
  GATEWAY_PEERS: text({
    doc: 'gRPC addresses of all gateways, including this one, host:port, separated by commas; a name may have many addresses. Gateways report the usage of clients to each other, so that limits apply to all gateways together. Without this setting this is the only gateway.',
    example: 'gateways:9000',
    pattern: /^[^,\s]+:\d+(,[^,\s]+:\d+)*$/,
    form: 'a list of host:port',
  }),
  ...egressConfig,
} as const satisfies ConfigSpec;

export type GatewayConfig = ConfigOf<typeof gatewayConfig>;

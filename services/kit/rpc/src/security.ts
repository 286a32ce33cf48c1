import { ConfigError, type ConfigOf, choice, text } from '@headset-cloud/runtime/config.ts';
import { createGatheredLog } from '@headset-cloud/runtime/gathered-log.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type CertificateFiles, openCertificateFiles } from '@headset-cloud/runtime/tls/certificate-files.ts';
import type { HandshakeFailure } from '@headset-cloud/runtime/tls/refusal-reason.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { identityOf, type Peer } from './identity.ts';

/** Mutual authentication of the platform's processes (ADR 0037). */
export const rpcSecurityConfig = {
  RPC_TLS_MODE: choice({
    doc: 'How services authenticate each other. `required`: mutual TLS only. `permissive`: mutual TLS, and plaintext for peers that do not have it yet; only during a migration. `mesh`: plaintext, because a service mesh encrypts and authenticates. `none`: plaintext.',
    example: 'required',
    default: 'none',
    words: ['required', 'permissive', 'mesh', 'none'],
  }),
  RPC_TLS_CERT_FILE: text({
    doc: "File with this process's certificate chain (PEM); its subjectAltName has the DNS name of the service in RPC_TLS_DOMAIN. Read again when it changes.",
    example: '/etc/headset-cloud/rpc/tls.crt',
  }),
  RPC_TLS_KEY_FILE: text({
    doc: 'File with the private key of RPC_TLS_CERT_FILE (PEM). Read again when it changes.',
    example: '/etc/headset-cloud/rpc/tls.key',
  }),
  RPC_TLS_CA_FILE: text({
    doc: "File with the certificates of the authorities that sign the services' certificates (PEM; two while they are changed). Read again when it changes.",
    example: '/etc/headset-cloud/rpc/ca.crt',
  }),
  RPC_TLS_DOMAIN: text({
    doc: "Domain of the services' names in certificates: devices is devices.DOMAIN. Two platforms with certificates from one authority need different domains.",
    example: 'headset-cloud.internal',
    default: 'headset-cloud.internal',
    pattern: /^[a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?$/,
    form: 'a DNS name in lower case',
  }),
} as const;

/** Reports events of connections between services. */
export interface SecurityObserver {
  /** Reports a call that its caller is not authorized to make. */
  callRefused(method: string, caller: string): void;
  /** Reports a connection without TLS, which was accepted in `permissive` mode. */
  plaintextAccepted(): void;
  /** Reports an incoming connection that failed in the TLS handshake. */
  handshakeFailed(): void;
  /**
   * Reports an outgoing connection that failed in the TLS handshake: one side rejected the certificate of the other.
   * `name`: the expected name of the server.
   */
  clientHandshakeFailed(name: string, address: string, failure: HandshakeFailure): void;
}

/** Mutual TLS of one process, as a server and as a client. */
export interface RpcSecurity {
  readonly mode: 'required' | 'permissive';
  readonly files: CertificateFiles;
  readonly domain: string;
  readonly observe: SecurityObserver;
}

/** Logger, metrics registry and environment variables of a process. */
export interface ProcessContext {
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the certificate files of the configuration. Returns undefined if the configuration selects plaintext. Throws
 * ConfigError if a file is missing or invalid. `own`: the components whose names the certificate must contain; without
 * any, the names are not checked.
 */
export function openRpcSecurity(
  config: ConfigOf<typeof rpcSecurityConfig>,
  { logger, metrics, env }: ProcessContext,
  ...own: readonly Peer[]
): RpcSecurity | undefined {
  const mode = config.RPC_TLS_MODE;
  if (mode === 'none' && env['NODE_ENV'] === 'production') {
    const reason = `RPC_TLS_MODE is none, but NODE_ENV is production: everybody who reaches a service could make any call. ${rpcSecurityConfig.RPC_TLS_MODE.doc} Example: RPC_TLS_MODE=required`;
    throw new ConfigError([{ setting: 'RPC_TLS_MODE', reason }]);
  }
  if (mode === 'none' || mode === 'mesh') return undefined;
  const named = (setting: 'RPC_TLS_CERT_FILE' | 'RPC_TLS_KEY_FILE' | 'RPC_TLS_CA_FILE') => {
    const path = config[setting];
    const key = rpcSecurityConfig[setting];
    const reason = `${setting} is missing, but RPC_TLS_MODE is ${mode}. ${key.doc} Example: ${setting}=${key.example}`;
    if (!path) throw new ConfigError([{ setting, reason }]);
    return { setting, path };
  };
  const files = openCertificateFiles({
    cert: named('RPC_TLS_CERT_FILE'),
    key: named('RPC_TLS_KEY_FILE'),
    ca: named('RPC_TLS_CA_FILE'),
    logger,
    names: own.map((peer) => identityOf(peer, config.RPC_TLS_DOMAIN)),
  });
  return {
    mode,
    files,
    domain: config.RPC_TLS_DOMAIN,
    observe: registerSecurityMetrics(metrics, files, logger),
  };
}

function registerSecurityMetrics(
  registry: Registry,
  files: CertificateFiles,
  logger: Logger,
): SecurityObserver {
  const logServer = createGatheredLog((fields) =>
    logger.warn(fields, 'a connection to another service failed in its TLS handshake'),
  );
  const refused = new Counter({
    name: 'headset_rpc_callers_refused_total',
    help: 'Calls that were rejected because the method does not name the caller.',
    labelNames: ['rpc_method', 'caller'],
    registers: [registry],
  });
  const plaintext = new Counter({
    name: 'headset_rpc_plaintext_connections_total',
    help: 'Connections of other services without TLS, accepted because RPC_TLS_MODE is permissive.',
    registers: [registry],
  });
  const handshakes = new Counter({
    name: 'headset_rpc_handshakes_failed_total',
    help: 'Connections of other services that failed in the TLS handshake: no certificate, or a rejected one.',
    registers: [registry],
  });
  new Gauge({
    name: 'headset_rpc_certificate_expiry_timestamp_seconds',
    help: "When this process's certificate for other services expires; seconds since 1970.",
    registers: [registry],
    collect() {
      this.set(files.expiresAtMs() / 1000);
    },
  });
  return {
    callRefused: (method, caller) => refused.inc({ rpc_method: method, caller }),
    plaintextAccepted: () => plaintext.inc(),
    handshakeFailed: () => handshakes.inc(),
    clientHandshakeFailed: (name, address, failure) => logServer({ ...failure, name }, { peer: address }),
  };
}

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext, type SecureContextOptions } from 'node:tls';
import { ConfigError, type ConfigOf, choice, text } from '@headset-cloud/runtime/config.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SASLOptions } from 'kafkajs';

/** Mutual authentication of processes and brokers. */
export const kafkaSecurityConfig = {
  KAFKA_TLS: choice({
    doc: 'Whether connections to brokers use TLS. The brokers’ certificates must contain the hosts of KAFKA_BROKERS and the advertised hosts.',
    example: 'on',
    default: 'off',
    words: ['off', 'on'],
  }),
  KAFKA_TLS_CA_FILE: text({
    doc: 'File with the certificates (PEM) of the authorities that sign the brokers’ certificates; without it the authorities of Node.js. Read again for each connection.',
    example: '/etc/headset-cloud/kafka/ca.crt',
  }),
  KAFKA_TLS_CERT_FILE: text({
    doc: 'File with the client certificate chain (PEM), for brokers that require one; with KAFKA_TLS_KEY_FILE. Read again for each connection.',
    example: '/etc/headset-cloud/kafka/tls.crt',
  }),
  KAFKA_TLS_KEY_FILE: text({
    doc: 'File with the private key of KAFKA_TLS_CERT_FILE (PEM). Read again for each connection.',
    example: '/etc/headset-cloud/kafka/tls.key',
  }),
  KAFKA_SASL_MECHANISM: choice({
    doc: 'How this process authenticates to the brokers. `plain` sends the password unencrypted and therefore requires KAFKA_TLS=on in production.',
    example: 'scram-sha-512',
    default: 'none',
    words: ['none', 'plain', 'scram-sha-256', 'scram-sha-512'],
  }),
  KAFKA_SASL_USERNAME: text({
    doc: 'User name for the brokers; with KAFKA_SASL_MECHANISM.',
    example: 'headset-cloud',
  }),
  KAFKA_SASL_PASSWORD: text({
    doc: 'Password of KAFKA_SASL_USERNAME.',
    example: 'a-long-random-text',
    secret: true,
  }),
} as const;

type Config = ConfigOf<typeof kafkaSecurityConfig>;
type FileSetting = 'KAFKA_TLS_CA_FILE' | 'KAFKA_TLS_CERT_FILE' | 'KAFKA_TLS_KEY_FILE';

/** TLS and authentication options of connections to Kafka. */
export interface KafkaSecurity {
  /** TLS options of the next connection, from the current files; undefined: plaintext. */
  readonly tls: (() => ConnectionOptions) | undefined;
  readonly sasl: SASLOptions | undefined;
}

/** Reads the settings and files. Throws ConfigError for settings that contradict each other and files that cannot be used. */
export function openKafkaSecurity(
  config: Config,
  { logger, env }: { readonly logger: Logger; readonly env: Readonly<Record<string, string | undefined>> },
): KafkaSecurity {
  const problems = [...tlsProblems(config), ...saslProblems(config, env)];
  if (problems.length > 0) throw new ConfigError(problems);
  return { tls: config.KAFKA_TLS === 'on' ? tlsOf(config, logger) : undefined, sasl: saslOf(config) };
}

interface Problem {
  readonly setting: string;
  readonly reason: string;
}

const explanationOf = (setting: keyof typeof kafkaSecurityConfig) =>
  `${kafkaSecurityConfig[setting].doc} Example: ${setting}=${kafkaSecurityConfig[setting].example}`;

function tlsProblems(config: Config): Problem[] {
  const files = (['KAFKA_TLS_CA_FILE', 'KAFKA_TLS_CERT_FILE', 'KAFKA_TLS_KEY_FILE'] as const).filter(
    (setting) => config[setting],
  );
  if (config.KAFKA_TLS === 'off') {
    return files.map((setting) => ({
      setting: 'KAFKA_TLS',
      reason: `${setting} is set, but KAFKA_TLS is off. ${explanationOf('KAFKA_TLS')}`,
    }));
  }
  const isIncomplete = files.includes('KAFKA_TLS_CERT_FILE') !== files.includes('KAFKA_TLS_KEY_FILE');
  if (!isIncomplete) return [];
  const setting = files.includes('KAFKA_TLS_CERT_FILE') ? 'KAFKA_TLS_KEY_FILE' : 'KAFKA_TLS_CERT_FILE';
  return [{ setting, reason: `${setting} is missing. ${explanationOf(setting)}` }];
}

function saslProblems(config: Config, env: Readonly<Record<string, string | undefined>>): Problem[] {
  const mechanism = config.KAFKA_SASL_MECHANISM;
  const both = ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const;
  if (mechanism === 'none') {
    const set = both.filter((setting) => config[setting]);
    if (set.length === 0) return [];
    const setting = 'KAFKA_SASL_MECHANISM';
    return [{ setting, reason: `${set.join(' and ')} without a mechanism. ${explanationOf(setting)}` }];
  }
  if (mechanism === 'plain' && config.KAFKA_TLS === 'off' && env['NODE_ENV'] === 'production') {
    const reason = `KAFKA_SASL_MECHANISM is plain without TLS, but NODE_ENV is production: the password would be readable on the network. ${explanationOf('KAFKA_TLS')}`;
    return [{ setting: 'KAFKA_TLS', reason }];
  }
  return both
    .filter((setting) => !config[setting])
    .map((setting) => ({
      setting,
      reason: `${setting} is missing, but KAFKA_SASL_MECHANISM is ${mechanism}. ${explanationOf(setting)}`,
    }));
}

function saslOf(config: Config): SASLOptions | undefined {
  const mechanism = config.KAFKA_SASL_MECHANISM;
  if (mechanism === 'none') return undefined;
  return {
    mechanism,
    username: config.KAFKA_SASL_USERNAME ?? '',
    password: config.KAFKA_SASL_PASSWORD ?? '',
  };
}

/** Returns a function that reads the files and returns the TLS options; with invalid files, the last valid options. */
function tlsOf(config: Config, logger: Logger): () => ConnectionOptions {
  let current = read(config);
  let logged = '';
  return () => {
    try {
      current = read(config);
      logged = '';
    } catch (error) {
      const { problems } = error as ConfigError;
      const reason = problems.map((problem) => problem.reason).join(' ');
      // One line for each change, not one for each connection.
      if (reason !== logged) {
        logger.error({ problems }, 'a changed TLS file for Kafka is invalid; the previous file stays in use');
      }
      logged = reason;
    }
    return current;
  };
}

function read(config: Config): ConnectionOptions {
  const contentOf = (setting: FileSetting) => {
    const path = config[setting];
    if (path === undefined) return undefined;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      throw fileError(config, setting, `cannot be read (${(error as Error).message})`);
    }
  };
  const ca = contentOf('KAFKA_TLS_CA_FILE');
  const cert = contentOf('KAFKA_TLS_CERT_FILE');
  const key = contentOf('KAFKA_TLS_KEY_FILE');
  if (ca !== undefined) {
    certificate(config, 'KAFKA_TLS_CA_FILE', ca);
    requireUsable(config, 'KAFKA_TLS_CA_FILE', { ca });
  }
  if (cert === undefined || key === undefined) return { ...(ca !== undefined && { ca }) };
  const leaf = certificate(config, 'KAFKA_TLS_CERT_FILE', cert);
  let fits: boolean;
  try {
    fits = leaf.checkPrivateKey(createPrivateKey(key));
  } catch {
    throw fileError(config, 'KAFKA_TLS_KEY_FILE', 'is not a private key in PEM without a password');
  }
  if (!fits) throw fileError(config, 'KAFKA_TLS_KEY_FILE', 'does not belong to KAFKA_TLS_CERT_FILE');
  requireUsable(config, 'KAFKA_TLS_CERT_FILE', { cert, key });
  return { ...(ca !== undefined && { ca }), cert, key };
}

/** Also reads the certificates of a file after the first, which `X509Certificate` ignores. */
function requireUsable(config: Config, setting: FileSetting, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw fileError(config, setting, `has a certificate that cannot be used (${(error as Error).message})`);
  }
}

/** The first certificate of a file. */
function certificate(config: Config, setting: FileSetting, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw fileError(config, setting, 'is not a certificate in PEM');
  }
}

function fileError(config: Config, setting: FileSetting, why: string): ConfigError {
  return new ConfigError([
    { setting, reason: `${setting}: ${config[setting]} ${why}. ${explanationOf(setting)}` },
  ]);
}

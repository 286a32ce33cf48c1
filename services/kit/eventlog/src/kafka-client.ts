import { connect as connectTcp, isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type ISocketFactory, Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { stopIdleTimers } from './kafka-pending.ts';
import type { KafkaSecurity } from './kafka-security.ts';

/** How to reach Kafka and how topics are created. */
export interface KafkaOptions {
  /** host:port of some brokers. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Prefix of all topics and groups, so that several platforms can share a broker; default none. */
  readonly prefix?: string | undefined;
  readonly logger: Logger;
  /** Called when a consumer has failed and cannot restart: end the process (rule C4). */
  readonly onFatal: (error: Error) => void;
  /** Copies of each topic; default 3. */
  readonly replicationFactor?: number;
  /** Copies that must have a write before it is acknowledged; default replicationFactor − 1, at least 1. */
  readonly minInsyncReplicas?: number;
  /** Partitions of a new topic; default 8. Dead-letter topics have one. */
  readonly partitions?: number;
  /** False: wait for missing topics instead of creating them; default true. */
  readonly makeTopics?: boolean;
  /** Retention period of events; default 7 days. */
  readonly retentionMs?: number;
  /** Retention period of dead letters; default 30 days. */
  readonly deadLetterRetentionMs?: number;
  /** Time limit of publish; default 10 s. */
  readonly publishTimeoutMs?: number;
  /** Time without a heartbeat after which a member's partitions go to others; default 6 s. */
  readonly sessionTimeoutMs?: number;
  /** TLS and authentication; default: neither. */
  readonly security?: KafkaSecurity;
}

/** Time limit for one request; milliseconds. Below the time limit of publish. */
export const requestTimeoutMs = 8000;

/**
 * Session timeout of a consumer. Must be below requestTimeoutMs: if the group's leader dies, the sync requests of the
 * other members wait until its session expires. A member whose request times out earlier would join again as a new
 * member, and its old session would have to expire, too. Brokers accept at least 6 s by default.
 */
export const defaultSessionTimeoutMs = 6000;

/**
 * Creates a kafkajs client. Each consumer needs a separate client, because the consumers of one client share a cache of
 * their groups' offsets, and a rebalance of one consumer clears the cache for the others.
 */
export function createClient(options: KafkaOptions, retries = 2): Kafka {
  stopIdleTimers();
  const { tls, sasl } = options.security ?? {};
  const config: KafkaConfig = {
    brokers: [...options.brokers],
    clientId: options.clientId,
    connectionTimeout: 2000,
    authenticationTimeout: 5000,
    requestTimeout: requestTimeoutMs,
    // kafkajs retries at several nested levels, so the waits are short. The callers retry for longer.
    retry: { initialRetryTime: 100, maxRetryTime: 500, multiplier: 2, factor: 0.2, retries },
    socketFactory: noDelaySockets(tls),
    logLevel: logLevel.INFO,
    logCreator:
      () =>
      ({ namespace, level, log }) => {
        const { message, timestamp: _, logger: __, stack: ___, ...details } = log;
        // kafkajs retries most of the errors that it logs; the platform's code logs the outcome.
        const ownLevel = level === logLevel.ERROR || level === logLevel.WARN ? 'debug' : 'trace';
        options.logger[ownLevel]({ namespace, ...details }, `kafkajs: ${message}`);
      },
  };
  if (tls) config.ssl = true;
  if (sasl) config.sasl = sasl;
  return new Kafka(config);
}

/**
 * Creates sockets without Nagle's algorithm, which delays small requests by up to 40 ms and which kafkajs leaves on.
 * `tls`: returns the options of the next connection. A host that is an IP address gets no TLS server name, because TLS
 * allows only host names there.
 */
function noDelaySockets(tls: (() => ConnectionOptions) | undefined): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const servername = isIP(host) ? {} : { servername: host };
    const socket = tls
      ? connectTls({ host, port, ...servername, ...tls() }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, 60_000);
    socket.setNoDelay(true);
    return socket;
  };
}

const unavailableErrors = new Set([
  // The password may have been changed at the brokers first. The process must keep running, not ready, until it gets
  // the new password.
  'KafkaJSSASLAuthenticationError',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSBrokerNotFound',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSTopicMetadataNotLoaded',
  'KafkaJSTimeout',
  'KafkaJSLockTimeout',
]);

/** True if the error only means that brokers could not be reached or found, which is transient. */
export function isKafkaUnavailable(error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { name?: unknown; cause?: unknown };
  if (typeof name === 'string' && unavailableErrors.has(name)) return true;
  return cause !== undefined && cause !== error && isKafkaUnavailable(cause);
}

/** Waits for `work`, but at most `timeoutMs`. Never rejects. For calls that close a connection and may hang. */
export async function waitAtMost(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}

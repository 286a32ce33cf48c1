import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { freePort } from './ports.ts';
import { killAtExit } from './process.ts';
import { findProgram } from './programs.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../../..');
const cache = join(root, '.cache', 'kafka');
const pom = join(import.meta.dirname, 'kafka', 'pom.xml');

/** A real Kafka broker (KRaft, one node) that this process started. */
export interface KafkaBroker {
  /** host:port list for KAFKA_BROKERS. */
  readonly brokers: string;
  /** The broker's process id; it changes at a restart. */
  readonly pid: number;
  /** Stops the broker (SIGTERM, SIGKILL after 10 s). */
  stop(): Promise<void>;
  /** Kills the broker (SIGKILL), like a power failure. */
  kill(): Promise<void>;
  /** Restarts the broker with the same port and data. Resolves when it is ready. */
  restart(): Promise<void>;
}

/** TLS listeners on localhost, and the users that may log in. */
export interface KafkaListeners {
  /** Passwords by user name. */
  readonly users: Readonly<Record<string, string>>;
  readonly listeners: readonly {
    readonly name: string;
    readonly port: number;
    /** Certificate chain and private key, PEM. */
    readonly cert: string;
    readonly key: string;
    /** Authorities (PEM) of client certificates; if set, clients authenticate with a certificate, not a password. */
    readonly clientCa?: string;
  }[];
}

/** Returns why no broker can be started on this machine; undefined if one can. */
export function kafkaMissing(): string | undefined {
  if (!findProgram('java')) {
    return 'no KAFKA_BROKERS is set, and java (17 or newer), which runs Kafka, is not on PATH';
  }
  if (!isInstalled() && !findProgram('mvn')) {
    return 'no KAFKA_BROKERS is set, and mvn (Maven), which fetches Kafka, is not on PATH';
  }
  return undefined;
}

/** Downloads Kafka's jars to the project's cache, once. Throws an Error that names the cause. */
export async function installKafka(): Promise<string> {
  const missing = kafkaMissing();
  if (missing) throw new Error(missing);
  const libs = join(cache, 'libs');
  if (isInstalled()) return libs;
  await mkdir(cache, { recursive: true });
  // Download to another folder and move it, so that an interrupted or concurrent download leaves no partial folder.
  const fresh = await mkdtemp(join(cache, 'fetch-'));
  try {
    await run('mvn', [
      ...['-q', '-B', '-f', pom, 'dependency:copy-dependencies'],
      ...['-DincludeScope=runtime', `-DoutputDirectory=${fresh}`],
    ]);
    writeFileSync(join(fresh, 'pom.xml'), readFileSync(pom));
    await rm(libs, { recursive: true, force: true });
    await rename(fresh, libs);
  } catch (error) {
    if (isInstalled()) return libs;
    const { stdout = '', message } = error as { stdout?: string; message: string };
    throw new Error(`Kafka's jars could not be fetched from Maven Central: ${stdout || message}`);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return libs;
}

/**
 * Starts a broker with its data in `dir`. Data and port stay for later starts in the same folder. `port` 0 or absent:
 * the system chooses. `host`: address to listen on and to advertise to clients; default loopback. `listeners`:
 * additional TLS listeners.
 */
export async function startKafka(options: {
  dir: string;
  port?: number;
  host?: string;
  listeners?: KafkaListeners;
}): Promise<KafkaBroker> {
  const libs = await installKafka();
  const { dir } = options;
  mkdirSync(dir, { recursive: true });
  const properties = join(dir, 'server.properties');
  const formatted = existsSync(join(dir, 'data', 'meta.properties'));
  // The formatted data contain the addresses, so a restart must use the same addresses.
  if (!formatted) {
    const address = `${options.host ?? '127.0.0.1'}:${options.port || (await freePort())}`;
    const lines = serverProperties(join(dir, 'data'), address, await freePort());
    writeFileSync(
      properties,
      lines + (options.listeners ? listenerProperties(dir, options.listeners, lines) : ''),
    );
  }
  const address = /^advertised\.listeners=PLAINTEXT:\/\/(.+)$/m.exec(readFileSync(properties, 'utf8'))?.[1];
  if (!formatted) {
    await run('java', [
      ...['-cp', join(libs, '*'), 'kafka.tools.StorageTool', 'format'],
      ...['-t', clusterId(), '-c', properties],
      ...Object.entries(options.listeners?.users ?? {}).flatMap(([name, password]) =>
        ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
          '--add-scram',
          `${mechanism}=[name=${name},password=${password}]`,
        ]),
      ),
    ]);
  }
  let child = await launch(libs, dir, properties);
  return {
    brokers: address ?? '',
    get pid() {
      return child.pid ?? 0;
    },
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
    restart: async () => {
      await end(child, 'SIGTERM');
      child = await launch(libs, dir, properties);
    },
  };
}

async function launch(libs: string, dir: string, properties: string): Promise<ChildProcess> {
  const logFile = join(dir, 'kafka.log');
  const start = existsSync(logFile) ? statSync(logFile).size : 0;
  const log = openSync(logFile, 'a');
  const java = [
    '-Xms256m',
    '-Xmx512m',
    '-XX:+UseSerialGC',
    '-cp',
    join(libs, '*'),
    'kafka.Kafka',
    properties,
  ];
  // With setpriv (Linux), the broker also dies if this process is killed.
  const child = findProgram('setpriv')
    ? spawn('setpriv', ['--pdeathsig', 'KILL', 'java', ...java], { stdio: ['ignore', log, log] })
    : spawn('java', java, { stdio: ['ignore', log, log] });
  closeSync(log);
  killAtExit(child);
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  failed.catch(() => {});
  const started = waitFor(
    'Kafka to start',
    async () => {
      const text = (await readFile(logFile)).subarray(start).toString();
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`Kafka ended while starting:\n${text.slice(-2000)}`);
      }
      return text.includes('Kafka Server started');
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
  try {
    await Promise.race([started, failed]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return child;
}

function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((done) => {
    const killTimer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    child.once('exit', () => {
      clearTimeout(killTimer);
      done();
    });
    child.kill(signal);
  });
}

function serverProperties(dataDir: string, address: string, controllerPort: number): string {
  return [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listeners=PLAINTEXT://${address},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=PLAINTEXT://${address}`,
    'controller.listener.names=CONTROLLER',
    `log.dirs=${dataDir}`,
    'auto.create.topics.enable=false',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=8',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    'group.initial.rebalance.delay.ms=0',
    // The crash test freezes consumers for longer than their session timeout.
    'group.min.session.timeout.ms=1000',
    // With the defaults a killed broker rejoins only after 13 to 16 s.
    'broker.session.timeout.ms=3000',
    'broker.heartbeat.interval.ms=500',
    '',
  ].join('\n');
}

/** Properties of additional listeners. Java uses the last value of a repeated key, so they replace keys in `lines`. */
function listenerProperties(dir: string, { users, listeners }: KafkaListeners, lines: string): string {
  const lineOf = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(lines)?.[1] ?? '';
  const logins = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`);
  const module = (name: string) => `org.apache.kafka.common.security.${name} required`;
  const at = (host: string) => listeners.map(({ name, port }) => `${name}://${host}:${port}`).join(',');
  const protocols = listeners
    .map(({ name, clientCa }) => `${name}:${clientCa ? 'SSL' : 'SASL_SSL'}`)
    .join(',');
  const each = listeners.flatMap(({ name, cert, key, clientCa }) => {
    const prefix = `listener.name.${name.toLowerCase()}`;
    const file = (what: string, pem: string) => {
      const path = join(dir, `${name}-${what}.pem`);
      writeSecretFile(path, pem);
      return path;
    };
    const tls = [
      `${prefix}.ssl.keystore.type=PEM`,
      `${prefix}.ssl.keystore.location=${file('keystore', `${key}\n${cert}`)}`,
    ];
    if (clientCa) {
      return [
        ...tls,
        `${prefix}.ssl.client.auth=required`,
        `${prefix}.ssl.truststore.type=PEM`,
        `${prefix}.ssl.truststore.location=${file('truststore', clientCa)}`,
      ];
    }
    return [
      ...tls,
      `${prefix}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512`,
      `${prefix}.plain.sasl.jaas.config=${module('plain.PlainLoginModule')} ${logins.join(' ')};`,
      `${prefix}.scram-sha-256.sasl.jaas.config=${module('scram.ScramLoginModule')};`,
      `${prefix}.scram-sha-512.sasl.jaas.config=${module('scram.ScramLoginModule')};`,
    ];
  });
  return [
    `listeners=${lineOf('listeners')},${at('127.0.0.1')}`,
    `advertised.listeners=${lineOf('advertised\\.listeners')},${at('localhost')}`,
    `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,${protocols}`,
    'inter.broker.listener.name=PLAINTEXT',
    ...each,
    '',
  ].join('\n');
}

/** True if the jars of the current pom are downloaded: a complete download contains a copy of its pom. */
function isInstalled(): boolean {
  const copy = join(cache, 'libs', 'pom.xml');
  return existsSync(copy) && readFileSync(copy, 'utf8') === readFileSync(pom, 'utf8');
}

/** Returns 16 random bytes in Kafka's text form, without a dash at the start, which would look like an option. */
function clusterId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? clusterId() : id;
}

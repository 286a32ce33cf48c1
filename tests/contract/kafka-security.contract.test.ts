import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KafkaBroker, kafkaMissing, startKafka } from '@headset-cloud/demo/stack/kafka.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { connectKafka } from '@headset-cloud/eventlog/kafka.ts';
import { kafkaSecurityConfig, openKafkaSecurity } from '@headset-cloud/eventlog/kafka-security.ts';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { type Authority, createAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';

jest.setTimeout(90_000);
const patient = { timeoutMs: 30_000 };
const password = 'the-password-of-cloud';

/** A broker with one listener for each of its certificates. */
describeUnless(kafkaMissing(), 'Kafka with TLS and authentication', () => {
  let folder: string;
  let broker: KafkaBroker;
  let authority: Authority;
  const listeners = { GOOD: 0, EXPIRED: 0, MISNAMED: 0, MUTUAL: 0 };
  const open: EventLog[] = [];
  let logFile: number;
  const logged = () => readFileSync(join(folder, 'log'), 'utf8');

  const file = (name: string, content: string) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kafka-security-'));
    authority = await createAuthority('the brokers’ authority');
    const [GOOD = 0, EXPIRED = 0, MISNAMED = 0, MUTUAL = 0] = await freePorts(4);
    Object.assign(listeners, { GOOD, EXPIRED, MISNAMED, MUTUAL });
    const good = await authority.issue(['localhost']);
    const past = { fromMs: Date.UTC(2020, 0), untilMs: Date.UTC(2020, 1) };
    broker = await startKafka({
      dir: join(folder, 'broker'),
      listeners: {
        users: { cloud: password },
        listeners: [
          { name: 'GOOD', port: GOOD, ...good },
          { name: 'EXPIRED', port: EXPIRED, ...(await authority.issue(['localhost'], past)) },
          { name: 'MISNAMED', port: MISNAMED, ...(await authority.issue(['kafka.example.com'])) },
          { name: 'MUTUAL', port: MUTUAL, ...good, clientCa: authority.ca },
        ],
      },
    });
    file('ca.crt', authority.ca);
    const client = await authority.issue(['cloud']);
    file('tls.crt', client.cert);
    file('tls.key', client.key);
  });
  beforeEach(() => {
    logFile = openSync(join(folder, 'log'), 'w');
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((log) => log.close()));
    closeSync(logFile);
  });
  afterAll(async () => {
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The log of a process with these settings. */
  function connect(listener: keyof typeof listeners, env: Record<string, string>): EventLog {
    const logger = createLogger({ service: 'contract', level: 'info', destination: logFile });
    const tls = { KAFKA_TLS: 'on', KAFKA_TLS_CA_FILE: join(folder, 'ca.crt') };
    const settings = env['KAFKA_TLS'] === 'off' ? env : { ...tls, ...env };
    const log = connectKafka({
      brokers: [`localhost:${listeners[listener]}`],
      clientId: 'contract',
      logger,
      replicationFactor: 1,
      partitions: 1,
      onFatal: (error) => {
        throw error;
      },
      security: openKafkaSecurity(readConfig(kafkaSecurityConfig, settings), { logger, env: {} }),
    });
    open.push(log);
    return log;
  }
  const login = (mechanism = 'scram-sha-512') => ({
    ...{ KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: 'cloud', KAFKA_SASL_PASSWORD: password },
  });

  /** Topics, a publish, a consumer and its lag: each uses separate connections. */
  async function works(log: EventLog): Promise<void> {
    const topic = `t-${randomUUID()}`;
    await log.ensureTopics([topic]);
    await log.publish(topic, [{ key: 'k', value: Buffer.from('by TLS') }]);
    const got: string[] = [];
    await log.subscribe({
      topic,
      group: 'g',
      async handle(events) {
        got.push(...events.map(({ value }) => Buffer.from(value).toString()));
      },
    });
    await waitFor('the event', () => got.length > 0, patient);
    expect(got).toEqual(['by TLS']);
    expect(log.notReady()).toBeUndefined();
  }

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
    'publishes and consumes with %s',
    async (mechanism) => {
      await works(connect('GOOD', login(mechanism)));
      expect(logged()).not.toContain(password);
    },
  );

  it('publishes and consumes if the broker requires a certificate', async () => {
    const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    await works(connect('MUTUAL', { KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key }));
  });

  // protects against stores/kafka
  it.each<[string, keyof typeof listeners, () => Record<string, string>, RegExp]>([
    [
      'a wrong password',
      'GOOD',
      () => ({ ...login(), KAFKA_SASL_PASSWORD: 'another-password' }),
      /[Aa]uthentication failed/,
    ],
    ['an expired certificate', 'EXPIRED', login, /certificate has expired/],
    [
      'a certificate of another name',
      'MISNAMED',
      login,
      /localhost\. is not in the cert's altnames: DNS:kafka\.example\.com/,
    ],
    [
      'an unknown authority',
      'GOOD',
      () => ({ ...login(), KAFKA_TLS_CA_FILE: other() }),
      /unable to (get local issuer|verify the first) certificate|self-signed certificate/,
    ],
    [
      'a broker that speaks TLS, and a process that does not',
      'GOOD',
      () => ({ ...login(), KAFKA_TLS: 'off' }),
      /Closed connection|closed|ECONNRESET/,
    ],
  ])('says why it is not ready: %s', async (_, listener, env, reason) => {
    const log = connect(listener, env());
    await waitFor('the reason', () => reason.test(log.notReady() ?? ''), patient);
    await expect(log.ensureTopics(['t'])).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringMatching(reason),
    });
    expect(logged()).toMatch(reason);
    expect(logged()).not.toContain('another-password');
  });

  it('uses a changed authority for the next connection, and keeps the last valid one while a file is invalid', async () => {
    const ca = file('changing.crt', otherAuthority.ca);
    const log = connect('GOOD', { ...login(), KAFKA_TLS_CA_FILE: ca });
    await waitFor('the refusal', () => log.notReady()?.includes('certificate'), patient);
    file('changing.crt', authority.ca);
    await waitFor('the connection', () => log.notReady() === undefined, patient);
    file('changing.crt', 'no certificate');
    await works(log);
    await waitFor(
      'the complaint',
      () => logged().includes('changing.crt is not a certificate in PEM'),
      patient,
    );
  });

  let otherAuthority: Authority;
  const other = () => file('other.crt', otherAuthority.ca);
  beforeAll(async () => {
    otherAuthority = await createAuthority('another authority');
  });
});

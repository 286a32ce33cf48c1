import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { connect as connectSecurely, type SecureVersion } from 'node:tls';
import type { ServiceError } from '@grpc/grpc-js';
import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { type ConfigError, readConfig } from '@headset-cloud/runtime/config.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { type Authority, createAuthority, type Issued } from '@headset-cloud/runtime/testing/authority.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openCertificateFiles } from '@headset-cloud/runtime/tls/certificate-files.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { connectionAge, GrpcChannel, RpcServer } from './grpc.ts';
import { openRpcSecurity, type RpcSecurity, rpcSecurityConfig } from './security.ts';
import { bind, type Client, createClient } from './types.ts';

const domain = 'headset-cloud.internal';
const loopback = { host: '127.0.0.1', port: 0 };
let authority: Authority;
let folder: string;
const closing: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  authority = await createAuthority('test');
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rpc-security-'));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** A process with a certificate, its log and its metrics. */
interface Process {
  readonly security: RpcSecurity;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly lines: () => string;
}

function processWith(
  issued: Issued,
  ca = authority.ca,
  mode: 'required' | 'permissive' = 'required',
): Process {
  const own = mkdtempSync(join(folder, 'process-'));
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const logger = pino({ level: 'debug' }, output) as unknown as Logger;
  const metrics = new Registry();
  const write = (name: string, content: string) => {
    writeFileSync(join(own, name), content);
    return join(own, name);
  };
  const config = readConfig(rpcSecurityConfig, {
    RPC_TLS_MODE: mode,
    RPC_TLS_CERT_FILE: write('tls.crt', issued.cert),
    RPC_TLS_KEY_FILE: write('tls.key', issued.key),
    RPC_TLS_CA_FILE: write('ca.crt', ca),
  });
  const security = openRpcSecurity(config, { logger, metrics, env: {} }) as RpcSecurity;
  closing.push(() => security.files.close());
  return { security, logger, metrics, lines: () => text };
}

const named = (name: string) => authority.issue([`${name}.${domain}`]);

/** A billing service that counts the calls it handles; each does `work` first. */
async function serve(
  process: Process,
  plaintext = false,
  work: (nth: number) => Promise<void> = async () => {},
): Promise<{ port: number; handled: () => number; server: RpcServer }> {
  let handled = 0;
  const getBill = async () => {
    handled++;
    await work(handled);
    return {};
  };
  const server = new RpcServer(
    [bind(BillingService, { getBill })],
    process.logger,
    connectionAge(200),
    () => {},
    plaintext ? undefined : process.security,
  );
  const port = await server.start(loopback);
  closing.push(() => server.stop(0));
  return { port, handled: () => handled, server };
}

function callerOf(port: number, process?: Process): Client<typeof BillingService> {
  const channel = new GrpcChannel(
    `127.0.0.1:${port}`,
    {},
    process && { security: process.security, service: 'billing' },
  );
  closing.push(() => channel.close());
  return createClient(BillingService, channel);
}

async function failureOf(call: Promise<unknown>): Promise<DomainError> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(DomainError);
  return error as DomainError;
}

// protects against services/other-service, services/other-platform
test('a caller that the method names is served; any other identity is rejected, logged and counted', async () => {
  const billing = processWith(await named('billing'));
  const { port, handled } = await serve(billing);
  await callerOf(port, processWith(await named('gateway'))).getBill({});
  expect(handled()).toBe(1);

  const refused = await failureOf(callerOf(port, processWith(await named('notifier'))).getBill({}));
  // The caller sees an unavailable service, so that it retries its work later.
  expect(refused.code).toBe('unavailable');
  expect(refused.internal).toContain('names no caller');
  expect((refused.cause as ServiceError).code).toBe(7); // PERMISSION_DENIED
  const foreign = await authority.issue(['gateway.another-platform.internal']);
  expect((await failureOf(callerOf(port, processWith(foreign)).getBill({}))).code).toBe('unavailable');
  expect(handled()).toBe(1);
  const counted = await billing.metrics.getSingleMetricAsString('headset_rpc_callers_refused_total');
  expect(counted).toContain('{rpc_method="headset.billing.v1.BillingService/GetBill",caller="notifier"} 1');
  expect(counted).toContain('caller="unknown"} 1');
  const lines = linesOf(billing, 'a call was refused');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({
    ...{ rpc: 'headset.billing.v1.BillingService/GetBill', caller: 'notifier' },
    peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    certificate: `DNS:notifier.${domain}`,
  });
  expect(lines[1]).toMatchObject({ caller: 'unknown', certificate: 'DNS:gateway.another-platform.internal' });
});

// protects against services/log-flood
test('repeated rejections of a caller are all counted, and logged with a rate limit', async () => {
  const billing = processWith(await named('billing'));
  const { port } = await serve(billing);
  const notifier = callerOf(port, processWith(await named('notifier')));
  for (let i = 0; i < 30; i++) await failureOf(notifier.getBill({}));
  const counted = await billing.metrics.getSingleMetricAsString('headset_rpc_callers_refused_total');
  expect(counted).toContain('caller="notifier"} 30');
  expect(linesOf(billing, 'a call was refused').length).toBeLessThan(5);
});

/** A process's log lines with a message that begins with `message`. */
const linesOf = (process: Process, message: string) =>
  process
    .lines()
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}`))
    .map((line) => JSON.parse(line));

// protects against services/no-certificate
describe('the handshake rejects a caller', () => {
  const cases: Record<string, () => Promise<Process | undefined>> = {
    'without TLS': async () => undefined,
    'with an expired certificate': async () =>
      processWith(await authority.issue([`gateway.${domain}`], { untilMs: ago(1000) })),
    'with a certificate of another authority': async () =>
      processWith(await (await createAuthority('another')).issue([`gateway.${domain}`])),
    'with a certificate that is not valid yet': async () =>
      processWith(await authority.issue([`gateway.${domain}`], { fromMs: Date.now() + 3_600_000 })),
  };
  for (const [what, caller] of Object.entries(cases)) {
    test(what, async () => {
      const billing = processWith(await named('billing'));
      const { port, handled } = await serve(billing);
      const failure = await failureOf(callerOf(port, await caller()).getBill({}, { deadlineMs: 2000 }));
      expect(['unavailable', 'deadline_exceeded']).toContain(failure.code);
      expect(handled()).toBe(0);
      await waitFor('the failed handshake to be counted', async () => {
        const text = await billing.metrics.getSingleMetricAsString('headset_rpc_handshakes_failed_total');
        return Number(text.trim().split(' ').at(-1)) >= 1;
      });
      expect(billing.lines()).toContain('failed in its TLS handshake');
    });
  }
});

// protects against services/no-certificate
test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'the handshake rejects a resumed session after the caller’s certificate has expired, by %s',
  async (version) => {
    const { port } = await serve(processWith(await named('billing')));
    // Certificates have a resolution of whole seconds.
    const untilMs = Math.floor(Date.now() / 1000) * 1000 + 2000;
    const gateway = await authority.issue([`gateway.${domain}`], { untilMs });
    const first = await greeted(port, gateway, version);
    expect(first).toMatchObject({ served: true, session: expect.any(Buffer) });
    expect(await greeted(port, gateway, version, first.session)).toMatchObject({
      served: true,
      resumed: false,
    });
    await waitFor('the certificate to expire', async () => Date.now() > untilMs + 1000);
    expect(await greeted(port, gateway, version, first.session)).toMatchObject({ served: false });
  },
);

/** Connects; a service that accepts the connection sends HTTP/2 first. `session`: receives the newest TLS session. */
function greeted(
  port: number,
  { cert, key }: Issued,
  version: SecureVersion,
  kept?: Buffer,
): Promise<{ served: boolean; resumed: boolean; session: Buffer | undefined }> {
  return new Promise((resolve) => {
    let session: Buffer | undefined;
    const socket = connectSecurely({
      ...{ port, host: loopback.host, servername: `billing.${domain}`, ALPNProtocols: ['h2'] },
      ...{ cert, key, ca: authority.ca, minVersion: version, maxVersion: version },
      ...(kept && { session: kept }),
    });
    const end = (served: boolean) => {
      const resumed = socket.isSessionReused();
      resolve({ served, resumed, session: session ?? socket.getSession() });
      socket.destroy();
    };
    socket.on('session', (newest: Buffer) => {
      session = newest;
    });
    socket.on('error', () => {});
    socket.once('data', () => end(true));
    socket.once('close', () => end(false));
  });
}

// protects against services/false-server
test('a server with the identity of another service gets no call, whatever its address', async () => {
  const { port, handled } = await serve(processWith(await named('notifier')));
  const gateway = processWith(await named('gateway'));
  const failure = await failureOf(callerOf(port, gateway).getBill({}));
  expect(failure.code).toBe('unavailable');
  expect(failure.internal).toContain(`billing.${domain}`);
  expect(handled()).toBe(0);
  // The caller retries, with one log line.
  expect(linesOf(gateway, 'a connection to another service failed')).toEqual([
    expect.objectContaining({
      ...{ reason: 'the certificate of the peer is not for this name', name: `billing.${domain}` },
      peer: `127.0.0.1:${port}`,
    }),
  ]);
});

/** Changes a folder of files as Kubernetes does: by replacing the symbolic link to it. */
function swap(mount: string, revision: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(mount, revision));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(mount, revision, name), content);
  symlinkSync(revision, join(mount, '..data.new'));
  renameSync(join(mount, '..data.new'), join(mount, '..data'));
}

/** The files of a mounted Secret, read again every 20 ms. */
async function mounted(
  name: string,
  of: Authority,
  trusts: string,
): Promise<Process & { change: typeof renew }> {
  const mount = mkdtempSync(join(folder, 'mount-'));
  let revision = 0;
  const renew = async (by: Authority, nowTrusts: string) => {
    const { cert, key } = await by.issue([`${name}.${domain}`]);
    swap(mount, `r${revision++}`, { 'tls.crt': cert, 'tls.key': key, 'ca.crt': nowTrusts });
  };
  await renew(of, trusts);
  const base = processWith(await named(name));
  const path = (file: string) => join(mount, '..data', file);
  const files = openCertificateFiles({
    cert: { setting: 'RPC_TLS_CERT_FILE', path: path('tls.crt') },
    key: { setting: 'RPC_TLS_KEY_FILE', path: path('tls.key') },
    ca: { setting: 'RPC_TLS_CA_FILE', path: path('ca.crt') },
    logger: base.logger,
    everyMs: 20,
  });
  closing.push(() => files.close());
  return { ...base, security: { ...base.security, files }, change: renew };
}

test('certificates and their authority change under load, and no call fails', async () => {
  const next = await createAuthority('next');
  const both = authority.ca + next.ca;
  const billing = await mounted('billing', authority, authority.ca);
  const gateway = await mounted('gateway', authority, authority.ca);
  const { port } = await serve(billing);
  const client = callerOf(port, gateway);
  let stopped = false;
  let made = 0;
  const load = (async () => {
    while (!stopped) {
      await client.getBill({});
      made++;
    }
  })();
  load.catch(() => {});
  let connections = 0;
  const onConnection = (message: unknown) => {
    if ((message as { socket: Socket }).socket.localPort === port) connections++;
  };
  subscribe('net.server.socket', onConnection);
  closing.push(() => void unsubscribe('net.server.socket', onConnection));
  /** The second new connection starts when the first, which uses the new certificates, reaches its maximum age. */
  const progress = async () => {
    const before = { made, connections };
    await waitFor(
      'calls on new connections',
      () => made > before.made + 20 && connections >= before.connections + 2,
    );
  };
  for (const [by, trusts] of [
    [authority, both],
    [next, both],
    [next, next.ca],
  ] as const) {
    const before = [billing, gateway].map((p) => p.security.files.current());
    await billing.change(by, trusts);
    await gateway.change(by, trusts);
    await waitFor('both to read the new files', async () =>
      [billing, gateway].every((p, i) => p.security.files.current() !== before[i]),
    );
    await progress();
  }
  stopped = true;
  await load;
  expect(billing.security.files.current().ca).toBe(next.ca.trim());
  // The previous authority is no longer trusted.
  const late = callerOf(port, processWith(await named('gateway'), next.ca));
  expect((await failureOf(late.getBill({}))).code).toBe('unavailable');
});

// protects against services/bad-files
test('an invalid change keeps the previous certificate, and the log has the reason', async () => {
  const billing = await mounted('billing', authority, authority.ca);
  const before = billing.security.files.current();
  const mount = mkdtempSync(join(folder, 'wrong-'));
  const [one, other] = [await named('billing'), await named('billing')];
  swap(mount, 'r0', { 'tls.crt': one.cert, 'tls.key': one.key, 'ca.crt': authority.ca });
  const files = openCertificateFiles({
    cert: { setting: 'RPC_TLS_CERT_FILE', path: join(mount, '..data/tls.crt') },
    key: { setting: 'RPC_TLS_KEY_FILE', path: join(mount, '..data/tls.key') },
    ca: { setting: 'RPC_TLS_CA_FILE', path: join(mount, '..data/ca.crt') },
    names: [`billing.${domain}`],
    logger: billing.logger,
    everyMs: 20,
  });
  closing.push(() => files.close());
  swap(mount, 'r1', { 'tls.crt': one.cert, 'tls.key': other.key, 'ca.crt': authority.ca });
  await waitFor('the reason in the log', async () =>
    billing.lines().includes('does not belong to the certificate'),
  );
  // The names of the certificate change before the configuration of the process.
  const renamed = await authority.issue(['billing.other.internal']);
  swap(mount, 'renamed', { 'tls.crt': renamed.cert, 'tls.key': renamed.key, 'ca.crt': authority.ca });
  await waitFor('the reason in the log', async () =>
    billing.lines().includes(`is not for billing.${domain}`),
  );
  expect(files.current().key).toBe(one.key);
  // A file whose second certificate is not complete.
  const half = `${one.cert}\n${other.cert.slice(0, 200)}\n-----END CERTIFICATE-----\n`;
  swap(mount, 'half', { 'tls.crt': half, 'tls.key': one.key, 'ca.crt': authority.ca });
  await waitFor('the reason in the log', async () =>
    billing.lines().includes('has a chain that cannot be used'),
  );
  swap(mount, 'r2', { 'tls.crt': other.cert, 'tls.key': other.key, 'ca.crt': authority.ca });
  await waitFor('the use of the next valid files', async () => files.current().key === other.key);
  expect(billing.security.files.current()).toBe(before);
});

test('permissive: plaintext callers are served and counted, callers with a certificate are authorized by it', async () => {
  const billing = processWith(await named('billing'), authority.ca, 'permissive');
  const { port, handled } = await serve(billing);
  await callerOf(port).getBill({});
  await callerOf(port, processWith(await named('gateway'))).getBill({});
  expect(handled()).toBe(2);
  expect((await failureOf(callerOf(port, processWith(await named('devices'))).getBill({}))).code).toBe(
    'unavailable',
  );
  expect(await billing.metrics.getSingleMetricAsString('headset_rpc_plaintext_connections_total')).toMatch(
    /total [1-9]/,
  );
});

test('a stop waits for calls on connections that already received GOAWAY', async () => {
  const billing = processWith(await named('billing'), authority.ca, 'permissive');
  const held = Promise.withResolvers<void>();
  const { port, server, handled } = await serve(billing, false, (nth) =>
    nth === 1 ? held.promise : Promise.resolve(),
  );
  const caller = callerOf(port);
  const answered = caller.getBill({}, { deadlineMs: 60_000 });
  await waitFor('the call to be handled', () => handled() === 1);
  // A second connection: the connection of the call has reached its maximum age.
  await waitFor('a call on another connection', async () => {
    await caller.getBill({});
    const text = await billing.metrics.getSingleMetricAsString('headset_rpc_plaintext_connections_total');
    return Number(text.trim().split(' ').at(-1)) >= 2;
  });
  let stopped = false;
  const stop = server.stop(20_000).then(() => {
    stopped = true;
  });
  await waitFor('the port to be closed', () => refuses(port));
  await refuses(port);
  expect(stopped).toBe(false);
  held.resolve();
  expect(await answered).toBeDefined();
  await stop;
});

test('a connection does not delay the stop if its handshake ends after the stop began', async () => {
  const billing = processWith(await named('billing'), authority.ca, 'permissive');
  const { port, server } = await serve(billing);
  // The silent connection has been accepted once a later connection was served.
  const silent = connect({ host: loopback.host, port });
  await once(silent, 'connect');
  await callerOf(port).getBill({});
  const closed = new Promise((resolve) => silent.once('close', resolve));
  silent.on('error', () => {});
  const stop = server.stop(20_000).then(() => 'stopped');
  silent.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await closed;
  expect(await stop).toBe('stopped');
});

/** True when the port is no longer open. */
async function refuses(port: number): Promise<boolean> {
  const socket = connect({ host: loopback.host, port });
  const refused = await once(socket, 'connect').then(
    () => false,
    () => true,
  );
  socket.destroy();
  return refused;
}

test('permissive: a service without TLS is reached; with `required` it is not', async () => {
  const billing = processWith(await named('billing'));
  const { port, handled } = await serve(billing, true);
  await callerOf(port, processWith(await named('gateway'), authority.ca, 'permissive')).getBill({});
  expect(handled()).toBe(1);
  const strict = callerOf(port, processWith(await named('gateway')));
  expect((await failureOf(strict.getBill({}))).code).toBe('unavailable');
  expect(handled()).toBe(1);
});

// protects against services/bad-files
test('a start with invalid files fails, and names the setting and the reason', async () => {
  const right = await named('billing');
  const open = (contents: Record<string, string>, env: Record<string, string> = {}) => {
    const files: Record<string, string> = {};
    for (const [key, content] of Object.entries(contents)) {
      files[key] = join(folder, key);
      writeFileSync(files[key], content);
    }
    try {
      const config = readConfig(rpcSecurityConfig, { RPC_TLS_MODE: 'required', ...files, ...env });
      const logger = pino({ level: 'silent' }) as unknown as Logger;
      const security = openRpcSecurity(config, { logger, metrics: new Registry(), env }, 'billing');
      security?.files.close();
    } catch (error) {
      return (error as ConfigError).problems?.[0];
    }
    return undefined;
  };
  const all = { RPC_TLS_CERT_FILE: right.cert, RPC_TLS_KEY_FILE: right.key, RPC_TLS_CA_FILE: authority.ca };
  const { RPC_TLS_CA_FILE: _, ...withoutCa } = all;
  expect(open(withoutCa)).toMatchObject({
    setting: 'RPC_TLS_CA_FILE',
    reason: expect.stringContaining('missing'),
  });
  expect(open({}, { RPC_TLS_MODE: 'none', NODE_ENV: 'production' })).toMatchObject({
    setting: 'RPC_TLS_MODE',
  });
  expect(open({}, { RPC_TLS_MODE: 'mesh', NODE_ENV: 'production' })).toBeUndefined();
  expect(open({ ...all, RPC_TLS_CERT_FILE: 'x' })?.reason).toContain('is not a certificate');
  expect(open({ ...all, RPC_TLS_KEY_FILE: 'x' })?.reason).toContain('is not a private key');
  expect(open({ ...all, RPC_TLS_KEY_FILE: (await named('billing')).key })?.reason).toContain(
    'does not belong',
  );
  expect(open({ ...all, RPC_TLS_CA_FILE: 'x' })?.reason).toContain('has no certificate');
  // A certificate of another component or another platform: no service would call it or accept its calls.
  expect(open(all, { RPC_TLS_DOMAIN: 'other.internal' })).toEqual({
    setting: 'RPC_TLS_CERT_FILE',
    reason: expect.stringContaining(`is not for billing.other.internal (it has DNS:billing.${domain})`),
  });
  const { cert, key } = await named('devices');
  expect(open({ ...all, RPC_TLS_CERT_FILE: cert, RPC_TLS_KEY_FILE: key })?.reason).toContain(
    `is not for billing.${domain}`,
  );
  expect(open(all)).toBeUndefined();
});

import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { type ApiClient, allScopes, createApiClient } from '../api.ts';
import { createAdmin, provisionApplication, provisionDevice } from '../provision.ts';
import { realStackMissing } from './backing.ts';
import { callbacksIn } from './callbacks.ts';
import { startCompose, whyNoCompose } from './compose.ts';
import { isFree } from './ports.ts';
import { manageProcess, root } from './process.ts';
import { type Stack, type StackKind, startStack } from './stack.ts';

/** What `.data/demo.json` holds: everything needed to go on by hand. */
interface Demo {
  apiUrl: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  applicationId: string;
  deviceId: string;
  deviceLinkUrl: string;
  headsetKeyFile: string;
  integratorUrl: string;
  authenticationKey: string;
}

const kind: StackKind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
const dataDir = resolve(root, process.env['DATA_DIR'] ?? '.data');
const basePort = Number(process.env['PORT'] ?? 8080);
const ports = {
  gateway: basePort,
  issuer: basePort + 1,
  deviceLink: basePort + 2,
  files: basePort + 4,
  sora: basePort + 5,
  admin: basePort + 1020,
};
const integratorPort = basePort + 3;
const started = Date.now();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function step(text: string): void {
  say(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s  ${text}`);
}

/** Ends with one readable line; nothing has been started yet. */
function refuse(message: string): never {
  process.stderr.write(`\n${message}\n`);
  process.exit(1);
}

function prepareFolder(): void {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK);
    const probe = join(dataDir, '.probe');
    writeFileSync(probe, Buffer.alloc(1024 * 1024));
    rmSync(probe);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'ENOSPC'
        ? 'the disk is full: free some space'
        : code === 'EROFS'
          ? 'the disk is read-only: choose another folder with DATA_DIR=…'
          : `${(error as Error).message}: choose another folder with DATA_DIR=…`;
    refuse(`Cannot write to ${relative(root, dataDir) || dataDir}: ${reason}.`);
  }
}

function refuseSecondRun(): void {
  const pidFile = join(dataDir, 'up.pid');
  if (existsSync(pidFile)) {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    try {
      process.kill(pid, 0);
      refuse(
        `The platform is running already (process ${pid}); its addresses are in ${relative(root, join(dataDir, 'demo.json'))}.\n` +
          'Stop it with Ctrl-C in its terminal, or use another folder and port: make up DATA_DIR=.data2 PORT=9080',
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  writeFileSync(pidFile, String(process.pid));
  process.on('exit', () => rmSync(pidFile, { force: true }));
}

async function refuseBusyPorts(): Promise<void> {
  const wanted = { ...ports, integrator: integratorPort };
  for (const [name, port] of Object.entries(wanted)) {
    if (!(await isFree(port)))
      refuse(
        `Port ${port} (${name}) is taken. Stop what uses it, or choose others: make up PORT=${basePort + 1000}`,
      );
  }
}

/** Provisions through the operators' door what a new customer needs; once for a data folder. */
async function provision(stack: Stack, api: (demo: Demo) => ApiClient): Promise<Demo> {
  const file = join(dataDir, 'demo.json');
  const keyFile = join(dataDir, 'headset-key.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Demo;
  const client = stack.clients[0];
  if (!client) throw new Error('the issuer has no client');
  const admin = createAdmin(stack.admin);
  const deviceId = `35${String(Date.now()).slice(-13)}`;
  writeFileSync(keyFile, JSON.stringify(await provisionDevice(admin, deviceId), null, 2), { mode: 0o600 });
  const applicationId = await provisionApplication(admin, {
    developerId: 'demo-developer',
    clientIds: [client.clientId],
    name: 'Demo',
    activationLimit: 10,
    deviceIds: [deviceId],
  });
  const demo: Demo = {
    apiUrl: stack.apiUrl,
    tokenUrl: stack.tokenUrl,
    ...client,
    applicationId,
    deviceId,
    deviceLinkUrl: stack.deviceLinkUrl,
    headsetKeyFile: relative(root, keyFile),
    integratorUrl: `http://127.0.0.1:${integratorPort}/callbacks`,
    authenticationKey: '',
  };
  const rest = api(demo);
  const settings = await rest.app('PATCH', '', { deviceEvent: demo.integratorUrl });
  if (settings.status !== 200) throw new Error(`settings were refused: ${JSON.stringify(settings.body)}`);
  const key = await rest.app('POST', '/refresh_authkey');
  demo.authenticationKey = key.body.authenticationKey;
  writeFileSync(join(dataDir, 'integrator.key'), demo.authenticationKey, { mode: 0o600 });
  writeFileSync(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  return demo;
}

async function run(): Promise<void> {
  prepareFolder();
  refuseSecondRun();
  await refuseBusyPorts();
  if (kind === 'real') {
    const missing = realStackMissing();
    if (missing) {
      const alsoMissing = whyNoCompose();
      if (alsoMissing) {
        refuse(
          `STACK=real needs MongoDB and Kafka: name them by MONGODB_URI and KAFKA_BROKERS, put the programs on PATH, or start Docker.\n` +
            `Here ${missing.replace(/\.$/, '')}; ${alsoMissing}.`,
        );
      }
      step('MongoDB, Kafka and S3 come from compose.yaml (docker compose down ends them)');
      startCompose();
    }
  }
  const clientFile = join(dataDir, 'issuer-clients.json');
  const clients = existsSync(clientFile)
    ? (JSON.parse(readFileSync(clientFile, 'utf8')) as { clientId: string; clientSecret: string }[])
    : [{ clientId: 'demo-client', clientSecret: randomBytes(24).toString('base64url') }];

  let ending = false;
  const stops: (() => Promise<unknown>)[] = [];
  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    say('\nStopping…');
    for (const stop of stops.reverse()) await stop().catch((error) => say(String(error)));
    process.exit(code);
  };
  process.on('SIGINT', () => void end(0));
  process.on('SIGTERM', () => void end(0));

  const stack = await startStack({ kind, dataDir, clients, ports });
  stops.push(() => stack.stop());
  if (ending) return;
  step(
    `the platform is ready (${kind === 'real' ? 'a process a service, MongoDB and Kafka' : 'one process, embedded stores'})`,
  );

  let api: ApiClient | undefined;
  const demo = await provision(stack, (d) => {
    api = createApiClient(d);
    return api;
  });
  api ??= createApiClient(demo);
  step(`application ${demo.applicationId} and headset ${demo.deviceId} are provisioned`);

  const log = (name: string) => join(dataDir, 'logs', `${name}.log`);
  const callbacks = join(dataDir, 'integrator.jsonl');
  const integrator = manageProcess({
    name: 'integrator',
    entry: 'tests/support/integrator/main.ts',
    args: [
      '--port',
      String(integratorPort),
      '--key-file',
      join(dataDir, 'integrator.key'),
      '--log',
      callbacks,
    ],
    env: {},
    logFile: log('integrator'),
  });
  const headset = manageProcess({
    name: 'headset',
    entry: 'tests/support/headset/main.ts',
    args: [
      '--server',
      demo.deviceLinkUrl,
      '--key-file',
      join(root, demo.headsetKeyFile),
      '--state',
      join(dataDir, 'headset'),
    ],
    env: {},
    logFile: log('headset'),
  });
  integrator.start();
  headset.start();
  stops.push(
    () => integrator.stop(3000),
    () => headset.stop(3000),
  );
  step(
    `a headset (log: ${relative(root, log('headset'))}) and an integrator's server (${relative(root, log('integrator'))}) run`,
  );

  for (const [what, method, path, body] of [
    ['activation', 'POST', `/devices/${demo.deviceId}`, { clientId: 'demo-app-client' }],
    [
      'command',
      'PUT',
      `/devices/${demo.deviceId}/commands`,
      { package: 'com.example.app', launchType: 'activity', extras: { greeting: 'こんにちは', count: 3 } },
    ],
  ] as const) {
    const answer = await api.app(method, path, body);
    if (answer.status !== 201) throw new Error(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    const id = answer.body.transactionId as number;
    step(`${what}: 201, transaction ${id}`);
    await waitFor(
      `the verified callback of transaction ${id}`,
      () =>
        callbacksIn(callbacks).some(
          (c) => c.verified && c.body.transactionId === id && c.body.notificationType === 'processed',
        ),
      { timeoutMs: 20_000 },
    );
    step(`${what}: its signed callback arrived and was verified`);
  }
  await api.close();
  say(hints(demo, stack));
  const ended = await Promise.race(
    Object.values(stack.processes).map(async (p) => `${p.name} ended: ${await p.exited}`),
  );
  if (!ending) {
    say(`${ended}; see ${relative(root, join(dataDir, 'logs'))}`);
    await end(1);
  }
}

function hints(demo: Demo, stack: Stack): string {
  const base = `${demo.apiUrl}/v1/applications/${demo.applicationId}`;
  return `
Addresses
  API        ${demo.apiUrl}      tokens  ${demo.tokenUrl}
  headsets   ${demo.deviceLinkUrl}           files   ${stack.backing?.s3Environment?.S3_ENDPOINT ?? stack.filesUrl}
  admin      ${Object.values(stack.adminUrls).join(' ')}
  all of it  ${relative(root, join(dataDir, 'demo.json'))}

Try next
  TOKEN=$(curl -s -u ${demo.clientId}:${demo.clientSecret} -d 'grant_type=client_credentials&scope=${allScopes.replaceAll(' ', '+')}' ${demo.tokenUrl} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s -X PUT ${base}/devices/${demo.deviceId}/commands -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"package":"com.example.app","launchType":"activity","extras":{"n":12345678901234567890}}'
  curl -s "${base}/transactions?deviceId=${demo.deviceId}&order=desc&perPage=5&page=1" -H "Authorization: Bearer $TOKEN"
  tail -f ${relative(root, join(dataDir, 'logs', 'integrator.log'))} ${relative(root, join(dataDir, 'logs', 'headset.log'))}

Ctrl-C stops everything; the state stays in ${relative(root, dataDir)} (make clean removes it).`;
}

await run().catch((error: Error) => {
  process.stderr.write(`\n${error.message}\n`);
  process.exit(1);
});

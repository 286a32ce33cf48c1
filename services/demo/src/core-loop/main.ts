import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createApiClient } from '../api.ts';
import { Headset } from '../headset/headset.ts';
import { readIdentities } from '../headset/identity.ts';
import { startIntegrator } from '../integrator/server.ts';

// Runs the core loop on a deployed platform (`helm test` of a trial). ctl provisions an application and a headset. An
// integrator activates the headset and sends a command. Both callbacks of each call must arrive with valid signatures.
// Exit code 0: success; 1: failure, with the failed step on standard error.
//
// Environment: API_URL, TOKEN_URL, DEVICE_LINK (host:port), CALLBACK_HOST (address of this process, reachable for
// notifier), CALLBACK_PORT, CLIENT_FILE (the issuer's clients, including `helm-test`), and ctl's settings.

/** Time limit of one command of ctl, and of the wait for callbacks. */
const timeLimitMs = 60_000;
const root = resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set.`);
  return value;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function ctl(...args: string[]): Promise<void> {
  say(`ctl ${args.join(' ')}`);
  const program = join(root, 'services/ctl/src/main.ts');
  await run(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    timeout: timeLimitMs,
  });
}

async function verifyCoreLoop(): Promise<void> {
  const clients = JSON.parse(readFileSync(setting('CLIENT_FILE'), 'utf8')) as {
    clientId: string;
    clientSecret: string;
  }[];
  const client = clients.find(({ clientId }) => clientId === 'helm-test');
  if (!client) throw new Error('The issuer has no client helm-test.');
  // An IMEI: 15 digits.
  const deviceId = `35${String(randomInt(1e12)).padStart(13, '0')}`;
  const applicationId = `helm-test-${randomBytes(4).toString('hex')}`;
  const keyFile = join(mkdtempSync(join(tmpdir(), 'core-loop-')), 'headset.key.json');
  await ctl('developers', 'put', 'helm-test', '--name', 'Helm test', '--client', client.clientId);
  await ctl('applications', 'create', applicationId, '--developer', 'helm-test', '--name', 'Helm test');
  await ctl('contracts', 'put', applicationId, '--limit', '1', '--add', deviceId);
  await ctl('devices', 'keys', 'generate', deviceId, '--out', keyFile);

  const api = createApiClient({
    ...client,
    apiUrl: setting('API_URL'),
    tokenUrl: setting('TOKEN_URL'),
    applicationId,
  });
  const call = async (expectedStatus: number, method: string, path: string, body?: unknown) => {
    const answer = await api.app(method, path, body);
    say(`${method} ${path || '/'}: ${answer.status}`);
    if (answer.status !== expectedStatus)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const integrator = await startIntegrator({ host: '0.0.0.0', port: Number(setting('CALLBACK_PORT')) });
  const deviceEvent = `http://${setting('CALLBACK_HOST')}:${setting('CALLBACK_PORT')}/events`;
  await call(200, 'PATCH', '', { deviceEvent });
  const { authenticationKey } = await call(201, 'POST', '/refresh_authkey');
  integrator.keys.push(authenticationKey);

  const [identity] = readIdentities(keyFile);
  if (!identity) throw new Error('ctl wrote no identity.');
  const headset = new Headset({ identity, server: setting('DEVICE_LINK'), durability: 'none' });
  headset.connect();
  /** Waits for the successful and verified callbacks `accepted` and `processed` of a transaction, in this order. */
  const bothCallbacks = async (what: string, transactionId: number): Promise<void> => {
    const bodies = () =>
      integrator.received.map(({ body }) => body).filter((body) => body.transactionId === transactionId);
    await waitFor(
      `both callbacks of the ${what}`,
      () => bodies().some((body) => body.notificationType === 'processed'),
      {
        timeoutMs: timeLimitMs,
      },
    );
    const types = bodies().map((body) => `${body.notificationType} ${body.result}`);
    if (types.join(', ') !== 'accepted success, processed success')
      throw new Error(`Callbacks of the ${what}: ${types.join(', ')}`);
    say(`${what}, transaction ${transactionId}: both callbacks arrived and are verified`);
  };
  const device = `/devices/${deviceId}`;
  const activation = await call(201, 'POST', device, { clientId: applicationId });
  await bothCallbacks('activation', activation.transactionId);
  const command = { package: 'com.example.app', launchType: 'activity', extras: { greeting: 'hello' } };
  await bothCallbacks('command', (await call(201, 'PUT', `${device}/commands`, command)).transactionId);
  const unverified = integrator.arrivals.filter(({ verified }) => !verified);
  if (unverified.length > 0) throw new Error(`${unverified.length} callbacks had wrong signatures.`);

  await Promise.all([headset.close(), integrator.close(), api.close()]);
}

try {
  await verifyCoreLoop();
  say('The core loop works.');
  process.exit(0);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
}

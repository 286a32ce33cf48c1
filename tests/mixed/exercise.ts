import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer } from '@headset-cloud/demo/api.ts';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { asksToRepeat, type Begun, checkDeadLetters, type Findings, isEnd, wrongWith } from './findings.ts';
import type { World } from './world.ts';

/** Thrown if a transaction waits because events of its device need a newer version. */
export class Waits extends Error {}

export interface ExerciseOptions {
  readonly world: World;
  readonly findings: Findings;
  /** Collects all created transactions, for the checks. */
  readonly begun: Begun[];
  /** Names of the processes' versions, for findings. */
  readonly label: string;
  /** The device-link to which the headset connects; default: any. */
  readonly listener?: string;
  /** Timeout of a call or a transaction; milliseconds. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 60_000;
const contentType = 'application/vnd.android.package-archive';

/**
 * Runs every type of operation once with its own headset: an activation, a command, an update to a new version, a
 * Bluetooth query, billed speech recognition, a video call, and the deactivation. Returns true if all have ended, false
 * if an operation waits for a newer version.
 */
export async function exercise(options: ExerciseOptions): Promise<boolean> {
  const { world, findings, label } = options;
  const headset = world.newHeadset(options.listener);
  const device = `/devices/${headset.deviceId}`;
  const at = (method: string, path: string, body?: unknown) => call(options, method, path, body);
  const begin = async (what: string, method: string, path: string, body?: unknown): Promise<Begun> => {
    const { transactionId } = await at(method, device + path, body);
    const begun = { what: `${label}: ${what}`, transactionId, deviceId: headset.deviceId };
    options.begun.push(begun);
    return begun;
  };
  try {
    await ended(options, await begin('the activation', 'POST', '', { clientId: `app-${headset.deviceId}` }));
    await Promise.all([
      begin('a command', 'PUT', '/commands', { package: 'com.example.app', launchType: 'activity' }).then(
        async (command) => {
          await ended(options, command);
          if (!headset.effects.has(command.transactionId))
            findings.add('callbacks', `${command.what}: no effect`);
        },
      ),
      update(options, headset, begin),
      begin('a Bluetooth query', 'GET', '/connectivity/bluetooth/state').then((one) => ended(options, one)),
      speech(options, headset),
      videoCall(options),
    ]);
    await ended(options, await begin('the deactivation', 'DELETE', ''));
    return true;
  } catch (error) {
    if (error instanceof Waits) return false;
    throw error;
  } finally {
    for (const wrong of checkDeadLetters(await world.deadLetters(), true))
      findings.add('events', `${label}: ${wrong}`);
  }
}

/** Uploads a version, waits until it is deliverable, and installs it on the headset. */
async function update(
  options: ExerciseOptions,
  headset: Headset,
  begin: (what: string, method: string, path: string, body: unknown) => Promise<Begun>,
): Promise<void> {
  const app = { package: `com.example.p${randomBytes(6).toString('hex')}`, version: '1.0.0' };
  const apk = await makeApk({ package: app.package, versionName: app.version });
  await until(options, `${app.package} to be accepted`, async () => {
    const answer = await call(options, 'POST', '/apps', { ...app, fileSize: apk.length });
    return answer.appFileExists || put(answer.urlList[0].uploadUrl, apk);
  });
  await until(options, `${app.package} to be deliverable`, async () => {
    const { appVersions } = await call(options, 'GET', `/apps?package=${app.package}`);
    return appVersions.length === 1;
  });
  const begun = await begin('an update', 'PUT', '/apps', app);
  await ended(options, begun);
  if (!headset.device.state.apps.some((one) => one.package === app.package)) {
    options.findings.add('callbacks', `${begun.what}: the version is not installed`);
  }
}

async function put(url: string, apk: Buffer): Promise<boolean> {
  try {
    const answer = await request(url, { method: 'PUT', body: apk, headers: { 'content-type': contentType } });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    // The process that issued the URL has stopped; another process issues the next URL.
    return false;
  }
}

/** Checks that the headset's speech recognition is billed. */
async function speech(options: ExerciseOptions, headset: Headset): Promise<void> {
  const startedAtMs = Date.now() - 1;
  headset.report({ case: 'speechUsage', value: { startedAtMs: BigInt(startedAtMs), durationMs: 1n } });
  const month = new Intl.DateTimeFormat('sv', { timeZone: 'Asia/Tokyo', year: 'numeric', month: '2-digit' });
  const [year, m] = month.format(startedAtMs).split('-');
  await until(
    options,
    'the bill',
    async () => {
      const bill = await call(options, 'GET', `/billing?year=${year}&month=${Number(m)}`);
      type Line = { deviceId: string; amountSpeechRecognition: number };
      const line = (bill.devices as Line[]).find((one) => one.deviceId === headset.deviceId);
      return line !== undefined && line.amountSpeechRecognition === 1;
    },
    headset.deviceId,
  );
}

/** Opens a channel and waits for the callback about a joined client. */
async function videoCall(options: ExerciseOptions): Promise<void> {
  const { sora, integrator } = options.world;
  const { channelId } = await call(options, 'POST', '/channels', {});
  const joined = sora.created(sora.join(channelId));
  await until(
    options,
    'the webhook to be accepted',
    async () => (await joined.send().catch(() => 0)) === 200,
  );
  await until(
    options,
    `the callback of ${channelId}`,
    () => integrator.received.some(({ body }) => body.channelId === channelId),
    channelId,
    options.world.applicationId,
  );
}

/** Resolves after the end callback of the transaction. Throws Waits if it waits for a newer version. */
function ended(options: ExerciseOptions, { what, transactionId, deviceId }: Begun): Promise<void> {
  const { integrator } = options.world;
  return until(
    options,
    `the end of ${what}`,
    () => integrator.received.some(({ body }) => body.transactionId === transactionId && isEnd(body)),
    deviceId,
  );
}

/** Waits for a condition. Throws Waits if events with these keys wait for a newer version. */
async function until(
  { world, label, patienceMs = defaultPatienceMs }: ExerciseOptions,
  what: string,
  probe: () => boolean | Promise<boolean>,
  ...keys: readonly string[]
): Promise<void> {
  let lookAtMs = Date.now() + 2000;
  await waitFor(
    `${label}: ${what}`,
    async () => {
      if (await probe()) return true;
      if (keys.length > 0 && Date.now() > lookAtMs) {
        lookAtMs = Date.now() + 1000;
        const waiting = (await world.deadLetters()).filter((deadLetter) => deadLetter.kind !== 'poison');
        if (waiting.some((deadLetter) => keys.includes(deadLetter.key))) throw new Waits(what);
      }
      return false;
    },
    { timeoutMs: patienceMs, intervalMs: 25 },
  );
}

/** Makes a call and repeats it with its Idempotency-Key until it is answered. Returns the body. */
export async function call(
  { world, findings, label, patienceMs = defaultPatienceMs }: Omit<ExerciseOptions, 'begun'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer['body']> {
  const headers = { 'idempotency-key': randomUUID() };
  const deadline = Date.now() + patienceMs;
  const name = `${label}: ${method} ${path}`;
  for (let last = 'nothing'; ; ) {
    findings.calls += 1;
    const answer = await world.api.app(method, path, body, headers).catch((error: Error) => {
      last = error.message;
      return undefined;
    });
    if (answer) {
      last = String(answer.status);
      const wrong = wrongWith(answer);
      if (wrong) findings.add('answers', `${name} answered ${wrong}`);
      if (!asksToRepeat(answer)) {
        if (answer.status < 300) return answer.body;
        throw new Error(`${name} answered ${wrong}`);
      }
      findings.unavailable += 1;
    } else findings.unanswered += 1;
    if (Date.now() > deadline) throw new Error(`${name}: ${last} for ${patienceMs} ms`);
    // Wait for Retry-After, but at most one second, the minimum of the header.
    await delay(Math.min(Number(answer?.headers['retry-after'] ?? 0) * 1000 || 100, 1000));
  }
}

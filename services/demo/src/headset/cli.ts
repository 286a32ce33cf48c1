import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { toJson } from '@bufbuild/protobuf';
import { ConnectResponseSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { userText } from '@headset-cloud/runtime/user-text.ts';
import { apply } from './actions.ts';
import { allDeathPoints, type Behaviour, checkedBehaviour, type DeathPoint } from './behaviour.ts';
import { listenForControl } from './control.ts';
import { Headset, type HeadsetOptions } from './headset.ts';
import { readIdentities } from './identity.ts';
import type { Durability } from './line-file.ts';
import { runScript, type Step } from './script.ts';

const usage = `Simulated headsets. Usage:
  node main.ts --server HOST:PORT (--key-file FILE | --keys DIR) [options]
  --ca FILE              use TLS; certificate authorities (PEM) for the server's certificate
  --state DIR            journal and effects of each headset (needed unless --durability none)
  --durability WORD      full (fsync), process (survives kill -9; default), none (memory only)
  --audience TEXT        audience of the tokens
  --client-version V     --firmware-version V     --apps package@version,…     --languages ja,en
  --content FILE         JSON: the initial content and surroundings of the headset (README.md)
  --effect-ms N          duration of the work
  --fail                 all operations fail
  --app-answer TEXT      the called app answers with TEXT     --app-data TEXT   its custom data
  --skew-ms N            offset of the headset's clock
  --behaviour JSON       any settings of behaviour.ts, e.g. '{"progressIntervalMs":500}'
  --die POINT[=N]        kill the process (SIGKILL) at the N-th time; POINT: ${allDeathPoints.join(', ')}
  --backoff-ms A-B       first and longest wait between connection attempts (default 500-60000)
  --connect-rate N       new connections per second (default 500)
  --script FILE          JSON array of steps (README.md); --control-port N: HTTP on 127.0.0.1; --stdin: one action per line
  --quiet                print no messages
`;

/** Prints a line as JSON. Secrets of an activation are masked. */
function print(line: unknown): void {
  const masked = (key: string, value: unknown) => (key === 'clientSecret' && value ? '…' : value);
  process.stdout.write(`${JSON.stringify(line, masked)}\n`);
}

function oneOf<T extends string>(words: readonly T[], value: string, flag: string): T {
  if (!(words as readonly string[]).includes(value)) {
    throw new Error(`--${flag}: ${value} is not one of ${words.join(', ')}`);
  }
  return value as T;
}

/**
 * Runs the headsets that `args` describe until a signal ends the process. `make` creates a headset; a test can pass
 * its own. Throws an Error that names an invalid argument.
 */
export async function runHeadsets(
  args: readonly string[],
  make = (options: HeadsetOptions) => new Headset(options),
): Promise<void> {
  const string = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values: o } = parseArgs({
    args: [...args],
    options: {
      server: string,
      'key-file': string,
      keys: string,
      ca: string,
      state: string,
      durability: string,
      audience: string,
      'client-version': string,
      'firmware-version': string,
      apps: string,
      languages: string,
      'effect-ms': string,
      fail: flag,
      'app-answer': string,
      'app-data': string,
      'skew-ms': string,
      content: string,
      behaviour: string,
      die: string,
      'backoff-ms': string,
      'connect-rate': string,
      script: string,
      'control-port': string,
      stdin: flag,
      quiet: flag,
      help: flag,
    },
  });
  const keys = o['key-file'] ?? o.keys;
  if (o.help || !o.server || !keys) {
    process.stdout.write(usage);
    process.exitCode = o.help ? 0 : 2;
    return;
  }
  const durability = oneOf<Durability>(['full', 'process', 'none'], o.durability ?? 'process', 'durability');
  if (durability !== 'none' && !o.state) throw new Error('--state DIR is missing (or --durability none)');
  const behaviour: Partial<Behaviour> = {
    succeeds: !o.fail,
    ...(o['effect-ms'] && { effectMs: Number(o['effect-ms']) }),
    ...(o['skew-ms'] && { skewMs: Number(o['skew-ms']) }),
    ...(o['app-answer'] !== undefined && { appAnswer: true, appAnswerText: o['app-answer'] }),
    ...(o['app-data'] && { appAnswerData: o['app-data'] }),
    ...(o.behaviour && checkedBehaviour(JSON.parse(o.behaviour))),
  };
  const [diePoint = '', dieCount = '1'] = (o.die ?? '').split('=');
  if (o.die) oneOf(allDeathPoints, diePoint, 'die');
  let passesLeft = Number(dieCount);
  const atPoint = (point: DeathPoint): void => {
    if (point !== diePoint) return;
    passesLeft -= 1;
    if (passesLeft === 0) process.kill(process.pid, 'SIGKILL');
  };

  const [firstMs = 0, maxMs = 0] = (o['backoff-ms'] ?? '').split('-').map(Number);
  if (o['backoff-ms'] && !(firstMs > 0 && maxMs >= firstMs)) throw new Error('--backoff-ms is not A-B');

  const rate = Number(o['connect-rate'] ?? 500);
  if (!(rate > 0)) throw new Error('--connect-rate is not a positive number');

  const content = o.content ? JSON.parse(userText(readFileSync(o.content))) : undefined;
  const ca = o.ca === undefined ? undefined : readFileSync(o.ca, 'utf8');
  const headsets = new Map<string, Headset>();
  for (const identity of readIdentities(keys)) {
    const headset = make({
      identity,
      server: o.server,
      durability,
      behaviour,
      ...(ca !== undefined && { ca }),
      ...(o.state && { stateDir: o.state }),
      ...(o.audience && { audience: o.audience }),
      ...(o['client-version'] && { clientVersion: o['client-version'] }),
      ...(o['firmware-version'] && { firmwareVersion: o['firmware-version'] }),
      ...(o.languages && { languages: o.languages.split(',') }),
      ...(o.apps && {
        apps: o.apps.split(',').map((app) => {
          const [name = '', version = ''] = app.split('@');
          return { package: name, version };
        }),
      }),
      ...(content && { content }),
      ...(o.die && { atPoint }),
      ...(o['backoff-ms'] && { backoff: { firstMs, maxMs } }),
    });
    headsets.set(headset.deviceId, headset);
    if (o.quiet) continue;
    const { deviceId } = headset;
    headset.on('received', (message) =>
      print({ deviceId, received: toJson(ConnectResponseSchema, message) }),
    );
    headset.on('effect', (transactionId) => print({ deviceId, effect: transactionId }));
    headset.on('offline', (code, details) => print({ deviceId, offline: { code, details } }));
  }

  const control = o['control-port'] ? await listenForControl(headsets, Number(o['control-port'])) : undefined;
  if (control) print({ control: control.url });
  await connectAll([...headsets.values()], rate);
  print({ headsets: headsets.size });
  if (o.script) {
    const script = JSON.parse(userText(readFileSync(o.script))) as Step[];
    runScript(headsets, script).catch(fail);
  }
  if (o.stdin) {
    createInterface({ input: process.stdin }).on('line', (line) => {
      try {
        print({ applied: apply(headsets, JSON.parse(line)) });
      } catch (error) {
        print({ message: (error as Error).message });
      }
    });
  }
  const stop = async () => {
    await control?.close();
    await Promise.all([...headsets.values()].map((headset) => headset.close()));
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
}

/** Connects headsets in groups, with about 20 groups per second. `rate`: new connections per second. */
export async function connectAll(
  headsets: readonly Pick<Headset, 'connect'>[],
  rate: number,
  time: Time = systemTime,
): Promise<void> {
  const group = Math.max(1, Math.round(rate / 20));
  for (const [i, headset] of headsets.entries()) {
    headset.connect();
    if ((i + 1) % group === 0) await time.sleep((group * 1000) / rate);
  }
}

/** Ends the process with the error's message. */
export function fail(error: unknown): void {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
}

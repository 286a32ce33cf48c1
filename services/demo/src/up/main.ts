import { join, resolve } from 'node:path';
import { realStackMissing } from '../stack/backing.ts';
import { startCompose, whyNoCompose } from '../stack/compose.ts';
import { manageProcess, root } from '../stack/process.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type Demo, headsetStateDir, openDemo } from './demo.ts';
import {
  optionsFrom,
  prepareFolder,
  Refusal,
  refuseBusyPorts,
  refuseSecondRun,
  shown,
  writeAddresses,
} from './folder.ts';
import { hints } from './hints.ts';
import { integratorKeyFile, issuerClients, refuseDamagedKeys } from './secrets.ts';
import { adminTokenOf, readSettings, settingsText } from './settings.ts';
import { showcase } from './showcase.ts';

// `make up`: the platform with a demo, a simulated headset and an integrator's server, until Ctrl-C.

// The data folder contains keys, client secrets and logs. Started processes inherit this umask.
process.umask(0o077);

const started = Date.now();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function step(text: string): void {
  say(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s  ${text}`);
}

function findRealStack(): void {
  const missing = realStackMissing();
  if (!missing) return;
  const alsoMissing = whyNoCompose();
  if (alsoMissing) {
    throw new Refusal(
      'STACK=real needs MongoDB and Kafka: name them by MONGODB_URI and KAFKA_BROKERS, put the programs on PATH, or start Docker.\n' +
        `Here ${missing.replace(/\.$/, '')}; ${alsoMissing}.`,
    );
  }
  step('MongoDB, Kafka and S3 run from compose.yaml (docker compose down stops them)');
  startCompose();
}

/** The external processes: the headset and the integrator's server. */
function externalProcesses(stack: Stack, port: number, callbacks: string, demo: Demo) {
  const { dataDir, headsetCaFile } = stack;
  const logFile = (name: string) => join(dataDir, 'logs', `${name}.log`);
  const keyFile = integratorKeyFile(dataDir);
  return {
    integrator: manageProcess({
      ...{ name: 'integrator', entry: 'services/demo/src/integrator/main.ts', env: {} },
      args: ['--port', String(port), '--key-file', keyFile, '--log', callbacks],
      logFile: logFile('integrator'),
    }),
    headset: manageProcess({
      ...{ name: 'headset', entry: 'services/demo/src/headset/main.ts', env: {} },
      args: [
        ...['--server', demo.deviceLinkUrl, '--key-file', resolve(root, demo.headsetKeyFile)],
        ...['--state', headsetStateDir(dataDir, demo)],
        ...(headsetCaFile ? ['--ca', headsetCaFile] : []),
      ],
      logFile: logFile('headset'),
    }),
  };
}

async function run(): Promise<void> {
  const { kind, dataDir, ports, headsetTls, settingsFile } = optionsFrom(process.env);
  const settings = settingsFile === undefined ? {} : readSettings(settingsFile);
  prepareFolder(dataDir);
  refuseSecondRun(dataDir);
  refuseDamagedKeys(dataDir);
  const clients = issuerClients(dataDir);
  await refuseBusyPorts(ports);
  if (kind === 'real') findRealStack();

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

  const stack = await startStack({
    kind,
    dataDir,
    clients,
    ports,
    headsetTls,
    env: settings,
  });
  stops.push(() => stack.stop());
  if (ending) return;
  step(
    `the platform is ready (${stack.oneProcess ? 'one process' : 'one process per service'}, ${kind === 'real' ? 'MongoDB and Kafka' : 'embedded stores'})`,
  );
  if (settingsFile !== undefined) step(`settings of ${shown(settingsFile)}: ${settingsText(settings)}`);
  stops.push(writeAddresses(dataDir, stack.adminUrls));
  const { demo, api, note } = await openDemo(stack, {
    integratorUrl: `http://127.0.0.1:${ports.integrator}/callbacks`,
    adminToken: adminTokenOf(settings),
  });
  if (note) step(note);
  step(`application ${demo.applicationId} and headset ${demo.deviceId} are provisioned`);

  const callbacks = join(dataDir, 'integrator.jsonl');
  const { integrator, headset } = externalProcesses(stack, ports.integrator, callbacks, demo);
  integrator.start();
  headset.start();
  stops.push(
    () => integrator.stop(3000),
    () => headset.stop(3000),
  );
  const [headsetLog, integratorLog] = ['headset', 'integrator'].map((name) =>
    shown(join(dataDir, 'logs', `${name}.log`)),
  );
  step(`a headset (log: ${headsetLog}) and an integrator's server (${integratorLog}) run`);

  await showcase({ api, demo, callbacks, keyFile: shown(integratorKeyFile(dataDir)), step });
  await api.close();
  say(hints(demo, stack));
  const ended = await Promise.race(
    Object.values(stack.processes).map(async (p) => `${p.name} ended: ${await p.exited}`),
  );
  if (!ending) {
    say(`${ended}; see ${shown(join(dataDir, 'logs'))}`);
    await end(1);
  }
}

await run().catch((error: Error) => {
  process.stderr.write(`\n${error.message}\n`);
  process.exit(1);
});

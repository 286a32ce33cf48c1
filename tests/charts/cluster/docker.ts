import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';

/** A Docker engine with the image store in which Skaffold finds images that are not pushed. */
export interface Docker {
  /** Environment variables with which programs find the engine. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const answers = (env: Readonly<Record<string, string>> = {}) =>
  spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000, env: { ...process.env, ...env } })
    .status === 0;

/** Why there is no engine; undefined if there is one, or one can be started. */
export function whyNoDocker(): string | undefined {
  if (!findProgram('docker')) return 'docker is not on PATH';
  if (answers()) return undefined;
  if (!findProgram('dockerd')) return "docker's daemon does not answer, and dockerd is not on PATH";
  return process.getuid?.() === 0
    ? undefined
    : "docker's daemon does not answer, and only root may start one";
}

/** The machine's engine, or an engine that is started for the test, without a network, because no container runs. */
export async function startDocker(dir: string): Promise<Docker> {
  if (answers()) return { env: {}, stop: async () => {} };
  mkdirSync(dir, { recursive: true });
  const env = { DOCKER_HOST: `unix://${join(dir, 'docker.sock')}` };
  const places = { 'data-root': 'data', 'exec-root': 'exec', pidfile: 'pid' };
  const child = spawn(
    'dockerd',
    [
      ...['--host', env.DOCKER_HOST, '--bridge', 'none', '--iptables=false'],
      ...Object.entries(places).flatMap(([option, name]) => [`--${option}`, join(dir, name)]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (data) => {
    log = `${log}${data}`.slice(-10_000);
  });
  const killWithParent = () => child.kill();
  process.once('exit', killWithParent);
  const ended = once(child, 'exit');
  await waitFor(
    'dockerd to answer',
    () => {
      if (child.exitCode !== null) throw new Error(`dockerd ended: ${log}`);
      return answers(env);
    },
    { intervalMs: 200 },
  );
  return {
    env,
    async stop() {
      process.off('exit', killWithParent);
      child.kill();
      await ended;
    },
  };
}

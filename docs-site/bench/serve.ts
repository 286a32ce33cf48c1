import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, get } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { end, residentMiB } from './project.ts';

const loadMs = 8000;
const connections = 32;

export interface Served {
  readonly url: string;
  readonly readyMs: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the server of a built site in the same way as `make site`, limited to one core. */
export async function serve(site: string): Promise<Served> {
  const [port, adminPort] = await freePorts(2);
  const command = [process.execPath, '--max-semi-space-size=1', join(site, 'dist/server.mjs')];
  const pinned = availableParallelism() > 1 ? ['taskset', '-c', '0', ...command] : command;
  const started = performance.now();
  const child: ChildProcess = spawn(pinned[0] ?? '', pinned.slice(1), {
    stdio: 'ignore',
    env: {
      ...process.env,
      SITE_LISTEN: `127.0.0.1:${port}`,
      ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    },
  });
  while ((await status(`http://127.0.0.1:${adminPort}/readyz`)) !== 200) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    await delay(5);
  }
  const readyMs = performance.now() - started;
  return { url: `http://127.0.0.1:${port}`, readyMs, pid: child.pid ?? 0, stop: () => end(child) };
}

export interface Load {
  readonly pagesPerSecond: number;
  readonly residentMiB: number;
}

/** Requests a page repeatedly for `loadMs`, with the compression that a browser accepts. */
export async function load({ url, pid }: Served, route: string): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let pages = 0;
  const until = performance.now() + loadMs;
  const client = async () => {
    while (performance.now() < until) {
      await page(`${url}${route}`, agent);
      pages += 1;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return { pagesPerSecond: pages / seconds, residentMiB: residentMiB(pid) };
}

function page(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'accept-encoding': 'br' } }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${url} answered ${answer.statusCode}`));
      answer.on('end', resolve).resume();
    }).on('error', reject);
  });
}

function status(url: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    }).on('error', () => resolve(0));
  });
}

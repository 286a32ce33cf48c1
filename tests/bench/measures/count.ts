import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Backing } from '@headset-cloud/demo/stack/backing.ts';
import type { Stack, StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { kafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Kafka, logLevel } from 'kafkajs';
import type { Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';
import { type JobsWorld, startJobsWorld } from './jobs-world.ts';

const hook = join(import.meta.dirname, '..', 'counting', 'hook.ts');
/** Counts per job below this belong to timers and are not shown. */
const leastOften = 0.02;
/** After this time, writes that wait for a group commit are done; milliseconds. */
const settleMs = 1500;

type Counts = Record<string, number>;

/**
 * Counts the writes and hops of one job: SQLite statements or MongoDB commands, events in the log,
 * calls between services, messages on the headsets' streams. With one caller (nothing is batched) and with
 * 64 (writes are batched).
 */
export async function measureCount(kind: StackKind, settings: Settings): Promise<Report> {
  const dir = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-count-'));
  const jobs = await startJobsWorld(
    kind,
    { profileDir: undefined },
    { NODE_OPTIONS: `--import=${hook}`, BENCH_COUNT_DIR: dir },
  );
  try {
    const single = await perJob(jobs, dir, 1, settings.seconds);
    const many = await perJob(jobs, dir, 64, settings.seconds);
    const kinds = [...new Set([...Object.keys(single), ...Object.keys(many)])].sort();
    const lines = kinds
      .filter((what) => Math.max(single[what] ?? 0, many[what] ?? 0) >= leastOften)
      .map((what) => `  ${number(single[what])} ${number(many[what])}  ${what}`);
    return {
      figures: [],
      notes: [`writes and hops of a job, with 1 caller and with 64:\n${lines.join('\n')}`],
    };
  } finally {
    await jobs.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const number = (value = 0) => value.toFixed(2).padStart(7);

async function perJob(jobs: JobsWorld, dir: string, callers: number, seconds: number): Promise<Counts> {
  const { stack } = jobs.world;
  await pause(settleMs);
  const before = await countsOf(stack, dir);
  const { done } = await jobs.load.call('jobs', { target: jobs.target, callers, seconds });
  await pause(settleMs);
  const after = await countsOf(stack, dir);
  return Object.fromEntries(
    Object.entries(after).map(([what, times]) => [what, (times - (before[what] ?? 0)) / done]),
  );
}

async function countsOf(stack: Stack, dir: string): Promise<Counts> {
  const total: Counts = {};
  const add = (what: string, times: number) => {
    total[what] = (total[what] ?? 0) + times;
  };
  for (const { name, pid } of Object.values(stack.processes)) {
    if (name === 'issuer') continue;
    const file = join(dir, `${pid}.json`);
    rmSync(file, { force: true });
    process.kill(pid, 'SIGUSR2');
    await waitFor(`the counts of ${name}`, () => existsSync(file));
    const counts = JSON.parse(readFileSync(file, 'utf8')) as Counts;
    for (const [what, times] of Object.entries(counts)) add(what, times);
  }
  const metrics = await fetch(`${stack.adminUrls['device-link'] ?? stack.adminUrls['platform']}/metrics`);
  for (const [, labels = '', times] of (await metrics.text()).matchAll(
    /^headset_session_messages_total\{(.*)\} (\d+)/gm,
  )) {
    const label = (name: string) => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1];
    add(`stream ${label('direction')} ${label('kind')}`, Number(times));
  }
  if (stack.backing) await addLogEvents(stack.backing, add);
  return total;
}

async function addLogEvents(
  { kafkaBrokers, kafkaPrefix }: Backing,
  add: (what: string, times: number) => void,
): Promise<void> {
  const names = kafkaNames(kafkaPrefix);
  const kafka = new Kafka({ brokers: kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  for (const topic of Object.values(topics)) {
    for (const { high } of await admin.fetchTopicOffsets(names.topic(topic)))
      add(`kafka ${topic}, events`, Number(high));
  }
  await admin.disconnect();
}

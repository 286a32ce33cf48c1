import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { checkInProcess } from '@headset-cloud/updates/checks/check-process.ts';
import {
  hostilePackages,
  largeDirectory,
  longCheck,
} from '@headset-cloud/updates/testing/hostile-packages.ts';
import { type Figure, median, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';

const claimed = { package: 'com.example.app', version: '1.0.0' };
const mebi = 1024 ** 2;
/** Maximum memory of a check, whatever the package (ADR 0042); MiB. */
const mostMemory = 160;

/**
 * Cost of checking a package in a separate process (ADR 0042): time and maximum memory for a small
 * package, for the most expensive accepted ones, and for every hostile one; and the delay of this process's
 * timers meanwhile. The same on both stacks.
 */
export async function measurePackageChecks(kind: StackKind, { runs }: Settings): Promise<Report> {
  if (kind === 'real')
    return { figures: [], notes: ['package checks are the same as on the embedded stack'] };
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-checks-'));
  const path = join(folder, 'package.apk');
  const check = async (content: Buffer) => {
    writeFileSync(path, content);
    const begun = performance.now();
    const limit = { timeoutMs: 300_000, signal: new AbortController().signal };
    const { verdict, peakBytes } = await checkInProcess(path, { kind: 'software', ...claimed }, limit);
    return { ms: performance.now() - begun, memory: peakBytes / mebi, accepted: 'sha256' in verdict };
  };
  const figures: Figure[] = [];
  const add = (measure: string, unit: string, ours: number, atMost?: number) =>
    figures.push({ measure, unit, ours, baseline: undefined, goal: atMost ? { atMost } : undefined });
  try {
    const dear: [string, Buffer][] = [
      ['small', await makeApk()],
      ['1 GiB unpacked', longCheck(claimed, 1024)],
      ['100,000 entries', largeDirectory(claimed)],
    ];
    const delay = monitorEventLoopDelay({ resolution: 1 });
    for (const [name, content] of dear) {
      const all: Awaited<ReturnType<typeof check>>[] = [];
      delay.enable();
      for (let i = 0; i < runs; i += 1) all.push(await check(content));
      delay.disable();
      if (all.some(({ accepted }) => !accepted)) throw new Error(`the package '${name}' was refused`);
      add(`package check, ${name}`, 'ms', median(all.map(({ ms }) => ms)));
      add('the same, largest memory', 'MiB', Math.max(...all.map(({ memory }) => memory)), mostMemory);
    }
    add('timers of the service meanwhile, p99', 'ms', delay.percentile(99) / 1e6);
    const hostile = [];
    for (const { make } of hostilePackages(claimed)) hostile.push(await check(make()));
    if (hostile.some(({ accepted }) => accepted)) throw new Error('a hostile package was accepted');
    add(`the dearest of ${hostile.length} hostile packages`, 'ms', Math.max(...hostile.map(({ ms }) => ms)));
    add('the same, largest memory', 'MiB', Math.max(...hostile.map(({ memory }) => memory)), mostMemory);
    return { figures, notes: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

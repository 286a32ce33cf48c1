import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { median, type Report } from '../lib/figures.ts';
import type { Settings } from '../lib/settings.ts';

/** First of four ports, with another port 1020 above it. */
const firstPort = 23_400;

/** Measure 6: `make up` (installed, empty folder) until the API's first 201. Embedded only. */
export async function measureUp(kind: StackKind, settings: Settings): Promise<Report> {
  if (kind === 'real') return { figures: [], notes: [] };
  const seconds: number[] = [];
  for (let run = 0; run < settings.runs; run++) seconds.push(await untilFirst201(firstPort + 10 * run));
  return {
    figures: [
      {
        measure: 'make up to the first 201',
        unit: 's',
        ours: median(seconds),
        baseline: undefined,
        goal: { atMost: 5 },
      },
    ],
    notes: [`up: from ${Math.min(...seconds).toFixed(1)} to ${Math.max(...seconds).toFixed(1)} s.`],
  };
}

async function untilFirst201(port: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'headset-cloud-bench-up-'));
  const began = performance.now();
  const up = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(root, 'services/demo/src/up/main.ts')],
    {
      env: { ...process.env, STACK: 'embedded', DATA_DIR: relative(root, dir), PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const gone = once(up, 'exit');
  let output = '';
  try {
    return await new Promise<number>((resolve, reject) => {
      for (const stream of [up.stdout, up.stderr]) {
        stream.on('data', (data: Buffer) => {
          output += data.toString();
          if (/: 201, transaction/.test(output)) resolve((performance.now() - began) / 1000);
        });
      }
      up.once('exit', () => reject(new Error(`make up ended:\n${output}`)));
    });
  } finally {
    up.kill('SIGTERM');
    await gone;
    rmSync(dir, { recursive: true, force: true });
  }
}

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import type { apiDocuments } from '@headset-cloud/gateway/openapi/document.ts';
import { settingsOf } from './settings.ts';
import { prepareTool } from './tool.ts';
import { startWorld, type World } from './world.ts';

/**
 * API fuzz test: schemathesis generates valid and invalid calls from the OpenAPI documents, follows their
 * links, and sends the calls to the running platform. STACK=embedded|real, SEED (random and printed;
 * replays the calls), SECONDS (60). The last line of the output has the counts.
 */
const kind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
const seed = Number(process.env['SEED'] || Date.now() % 1_000_000_000);
const seconds = Number(process.env['SECONDS'] || 60);
/** The documents with their share of the time: there are many specified calls, and few extensions. */
const documents = [
  { name: 'cws_api', part: 0.8 },
  { name: 'cws_extension', part: 0.2 },
] as const satisfies readonly { name: (typeof apiDocuments)[number]; part: number }[];
const signals = ['SIGINT', 'SIGTERM'] as const;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const tool = prepareTool();
  const missing = 'missing' in tool ? tool.missing : kind === 'real' ? realStackMissing() : undefined;
  if (missing !== undefined || 'missing' in tool) {
    say(`Schemathesis cannot run here: ${missing}`);
    const demanded = Boolean(process.env['REQUIRE_REAL_STACK']);
    say(demanded ? '0 passed, 1 failed' : '0 passed, 0 failed, 1 skipped');
    return demanded ? 1 : 0;
  }
  say(`schemathesis on the ${kind} stack: about ${seconds} s, SEED=${seed}`);
  const world = await startWorld(kind);
  try {
    let failed = false;
    for (const { name, part } of documents) {
      const document = resolve(import.meta.dirname, `../../gateway/openapi/${name}.yaml`);
      if ((await exitCodeOf(tool.program, world, document, Math.ceil(seconds * part))) !== 0) failed = true;
    }
    if (failed) say(`again with: STACK=${kind} SEED=${seed} node tests/schemathesis/main.ts`);
    say(failed ? '0 passed, 1 failed' : '1 passed, 0 failed');
    return failed ? 1 : 0;
  } finally {
    await world.stop();
  }
}

async function exitCodeOf(program: string, world: World, document: string, seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-st-'));
  const config = join(folder, 'schemathesis.toml');
  writeFileSync(config, settingsOf(world), { mode: 0o600 });
  const limits = ['--seed', String(seed), '--max-time', String(seconds), '--continue-on-failure'];
  const args = ['--config-file', config, 'run', document, '--url', world.stack.apiUrl, ...limits];
  try {
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
    const stop = () => child.kill();
    // Schemathesis ends itself; this is for a process that hangs.
    const hangs = setTimeout(stop, (seconds * 3 + 120) * 1000);
    for (const signal of signals) process.once(signal, stop);
    try {
      return await new Promise((done, fail) => {
        child.once('close', (code) => done(code ?? 1));
        child.once('error', fail);
      });
    } finally {
      clearTimeout(hangs);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main().catch((error: unknown) => {
  say((error as Error).stack ?? String(error));
  say('0 passed, 1 failed');
  return 1;
});

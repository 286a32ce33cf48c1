import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkFile, type Verdict } from '@headset-cloud/updates/checks/check-file.ts';
import { checkInProcess } from '@headset-cloud/updates/checks/check-process.ts';
import { createRandom } from '../faults/random.ts';
import { memoryWatch } from './memory.ts';
import { declared, mutated, seeds } from './mutate.ts';

/**
 * Fuzz test of uploaded packages: valid packages with bytes, fields of zip records and manifests changed by a seed.
 * Each package must be accepted or rejected with a reason, without a crash, growth of memory or written files. Some
 * packages are also checked in a separate process, where the verdict must be the same. Variables: SECONDS (default
 * 10), SEED (random and printed), ONLY=n (only this package of the seed).
 */
const seed = Number(process.env['SEED'] || Date.now() % 1_000_000_000);
const seconds = Number(process.env['SECONDS'] || 10);
const only = process.env['ONLY'] === undefined ? undefined : Number(process.env['ONLY']);
const longestMs = 30_000;
const everyInProcess = 200;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-fuzz-'));
const path = join(folder, 'package.apk');
const counts = new Map<string, number>();
let current = 0;

function fail(reason: string): never {
  say(`package ${current}: ${reason}`);
  say(`repeat with: SEED=${seed} ONLY=${current} node tests/fuzz/packages.ts`);
  say('0 passed, 1 failed');
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
process.on('uncaughtException', (error) => fail(`uncaught: ${error.stack}`));
process.on('unhandledRejection', (error) => fail(`unhandled: ${(error as Error)?.stack ?? error}`));

const rules = ['size', 'not_whole', 'bounds', 'unsafe', 'manifest', 'not_signed', 'split', 'other_name'];

function outcomeOf(verdict: Verdict, content: Buffer): string {
  if ('sha256' in verdict) {
    const right = createHash('sha256').update(content).digest('hex');
    return verdict.sha256 === right ? 'accepted' : fail('accepted with a wrong hash');
  }
  const { rule, reason } = verdict.rejection;
  if (!rules.includes(rule)) fail(`rejected by an unknown rule: ${rule}`);
  if (!/^[\x20-\x7e…’]{10,400}$/.test(reason)) fail(`rejected with an invalid reason: ${reason}`);
  return rule;
}

async function checkHere(): Promise<Verdict> {
  const fd = openSync(path, 'r');
  const late = setTimeout(() => fail(`not checked in ${longestMs} ms`), longestMs);
  try {
    return await checkFile(fd, declared);
  } finally {
    clearTimeout(late);
    closeSync(fd);
  }
}

async function one(from: readonly Buffer[], inProcess: boolean): Promise<void> {
  const content = mutated(from, createRandom(seed, String(current)));
  writeFileSync(path, content);
  const verdict = await checkHere();
  const outcome = outcomeOf(verdict, content);
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  if (inProcess) {
    const limit = { timeoutMs: longestMs, signal: new AbortController().signal };
    const other = (await checkInProcess(path, declared, limit)).verdict;
    if (JSON.stringify(other) !== JSON.stringify(verdict))
      fail(`the verdict of a separate process is ${JSON.stringify(other)}`);
  }
  const changed = readdirSync(folder).join() !== 'package.apk' || !readFileSync(path).equals(content);
  if (changed) fail('a file was written');
}

const from = await seeds();
if (only !== undefined) {
  current = only;
  await one(from, true);
} else {
  say(`packages with changes: ${seconds} s, SEED=${seed}`);
  const memory = memoryWatch();
  const until = Date.now() + seconds * 1000;
  for (; Date.now() < until; current += 1) {
    await one(from, current % everyInProcess === 0);
    if (current === 500) memory.begin();
  }
  const growth = await memory.growth();
  if (growth) fail(growth);
  if (!counts.has('accepted') || counts.size < 4) fail(`too few outcomes: ${[...counts]}`);
}
say([...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', '));
rmSync(folder, { recursive: true, force: true });
say('1 passed, 0 failed');
process.exit(0);

import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import { createRandom } from '../../faults/random.ts';
import type { Door, OpenDoor } from './door.ts';
import { json } from './json.ts';
import { isLimited, judgeCase, judgeDoor, judgeGrowth, judgeLog, judgeUnchanged } from './judge.ts';
import { messages } from './messages.ts';
import { streamBytes } from './stream-bytes.ts';
import { tokens } from './tokens.ts';
import { urls } from './urls.ts';
import { callBeside, held, settled, stillWorks, unchangeable } from './watch.ts';
import { webhooks } from './webhooks.ts';
import { startWorld, type World } from './world.ts';

/**
 * Fuzz test of the platform's doors: what is right, changed by a seed, is sent to all of them at the same time.
 * Each answer is judged by itself; afterwards the processes, their memory and logs, and that nothing was written.
 * STACK=embedded|real, SECONDS (10), SEED (drawn and printed), DOOR (one of them), ONLY=n (one case of that door).
 */
const all: readonly Door[] = [tokens, json, messages, streamBytes, urls, webhooks];
const kind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
const seed = Number(process.env['SEED'] || Date.now() % 1_000_000_000);
const seconds = Number(process.env['SECONDS'] || 10);
const only = process.env['ONLY'] ? Number(process.env['ONLY']) : undefined;
/** Before the memory is looked at for the first time. */
const warmUpMs = 3000;
const restMs = 1000;
const mostShown = 5;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const rest = () => new Promise((resolve) => setTimeout(resolve, restMs));

interface Running {
  readonly door: Door;
  readonly open: OpenDoor;
  readonly counts: Map<string, number>;
  limited: number;
  next: number;
}

const failures: string[] = [];

/** One case. Everything about it comes from the seed, the door's name and its number. */
async function one(running: Running, number: number, lane: number): Promise<void> {
  const { door, open, counts } = running;
  const outcome = await open.one(createRandom(seed, `${door.name} ${number}`), lane);
  counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1);
  if (isLimited(outcome)) running.limited += 1;
  const wrong = judgeCase(outcome);
  if (only !== undefined)
    say(`${door.name} ${number}: ${outcome.kind}\n${outcome.sent.subarray(0, 2048).toString('latin1')}`);
  if (wrong === undefined) return;
  failures.push(
    `${door.name} ${number}: ${wrong}\n  sent: ${outcome.sent.subarray(0, 2048).toString('hex')}\n` +
      `  again with: STACK=${kind} DOOR=${door.name} SEED=${seed} ONLY=${number} node tests/fuzz/doors/main.ts`,
  );
}

async function runFor(doors: readonly Running[], ms: number): Promise<void> {
  const until = Date.now() + ms;
  await Promise.all(
    doors.flatMap((running) =>
      Array.from({ length: running.door.atOnce }, async (_, lane) => {
        while (Date.now() < until && failures.length < mostShown) await one(running, running.next++, lane);
      }),
    ),
  );
}

async function runAll(world: World, doors: readonly Running[]): Promise<void> {
  await settled(world);
  const before = await unchangeable(world);
  if (only !== undefined) {
    for (const running of doors) await one(running, only, 0);
  } else {
    await runFor(doors, warmUpMs);
    await rest();
    const heldBefore = await held(world);
    const beside = callBeside(world);
    await runFor(doors, seconds * 1000);
    const took = await beside.stop();
    await rest();
    const heldAfter = await held(world);
    for (const { door, counts, limited } of doors) {
      say(`${door.name}: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`);
      failures.push(...judgeDoor(counts, limited).map((wrong) => `${door.name}: ${wrong}`));
    }
    const of = (share: number) => Math.round(took[Math.floor(took.length * share)] ?? 0);
    say(`a right call beside: p50 ${of(0.5)} ms, p99 ${of(0.99)} ms of ${took.length}`);
    for (const [name, { heap, resident, stoodStillMs }] of Object.entries(heldAfter)) {
      const grown = (now: number, then = 0) => `${((now - then) / 1024 ** 2).toFixed(1)} MiB`;
      const then = heldBefore[name];
      say(
        `${name}: heap + ${grown(heap, then?.heap)}, resident + ${grown(resident, then?.resident)}, stood still for ${stoodStillMs} ms`,
      );
    }
    failures.push(...new Set(beside.wrong), ...judgeGrowth(heldBefore, heldAfter));
  }
  for (const { door, open } of doors) {
    failures.push(...((await open.atEnd?.()) ?? []).map((wrong) => `${door.name}: ${wrong}`));
  }
  failures.push(...judgeUnchanged(before, await unchangeable(world)));
  await stillWorks(world);
}

function judgeProcesses({ stack }: World): void {
  for (const [name, managed] of Object.entries(stack.processes)) {
    if (!managed.running) failures.push(`${name} has ended`);
    failures.push(...judgeLog(name, managed.log()).slice(0, mostShown));
  }
}

async function main(): Promise<number> {
  const wanted = process.env['DOOR'];
  const chosen = all.filter(({ name }) => !wanted || name === wanted);
  if (chosen.length === 0) throw new Error(`DOOR is none of ${all.map(({ name }) => name).join(', ')}`);
  const missing = kind === 'real' ? realStackMissing() : undefined;
  if (missing !== undefined) {
    say(`The real stack cannot run here: ${missing}`);
    const demanded = Boolean(process.env['REQUIRE_REAL_STACK']);
    say(demanded ? '0 passed, 1 failed' : '0 passed, 0 failed, 1 skipped');
    return demanded ? 1 : 0;
  }
  say(`the doors of the ${kind} stack: ${seconds} s, SEED=${seed}`);
  const world = await startWorld(kind);
  try {
    const doors: Running[] = [];
    for (const door of chosen) {
      const why = door.missing?.(world);
      if (why !== undefined) say(`${door.name}: skipped, because ${why}`);
      else doors.push({ door, open: await door.open(world), counts: new Map(), limited: 0, next: 0 });
    }
    await runAll(world, doors).catch((error: Error) => void failures.push(error.stack ?? String(error)));
    judgeProcesses(world);
  } finally {
    await world.stop();
  }
  for (const failure of failures) say(failure);
  if (failures.length > 0)
    say(`again with: STACK=${kind} SECONDS=${seconds} SEED=${seed} node tests/fuzz/doors/main.ts`);
  say(failures.length > 0 ? '0 passed, 1 failed' : '1 passed, 0 failed');
  return failures.length > 0 ? 1 : 0;
}

process.exitCode = await main().catch((error: unknown) => {
  say((error as Error).stack ?? String(error));
  say('0 passed, 1 failed');
  return 1;
});

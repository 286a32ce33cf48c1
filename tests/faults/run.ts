import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import type { Evidence } from './evidence.ts';
import { describeRound, type Round } from './fault.ts';
import { gather, unfinished } from './gather.ts';
import type { Mutation } from './inside/environment.ts';
import type { Check } from './judge/check.ts';
import { judge } from './judge.ts';
import { createKiller, type Tally } from './killer.ts';
import { handoverLoop } from './load/handover.ts';
import { loops } from './load/loops.ts';
import type { LoadOptions, LoadTarget } from './load/target.ts';
import { prepareUpdates } from './load/updates.ts';
import { createRandom } from './random.ts';

import { startWorld, type World } from './world.ts';

export interface RunOptions {
  readonly kind: StackKind;
  readonly seed: number;
  /** The rounds; given what there is to break. */
  readonly rounds: (world: World) => readonly Round[];
  readonly env?: Readonly<Record<string, string>>;
  /** Safeguards that the platform's processes leave out. */
  readonly mutations?: readonly Mutation[];
  /** Of every service and the gateway, on the real stack. */
  readonly instances: number;
  readonly load: LoadOptions;
  /** The load goes on after the rounds until so much was done: a slow machine takes longer for it. */
  readonly atLeast?: Amount;
  readonly effectMs: number;
  /** Without progress for half of it, what is open in the end stays open; five times of it end all waiting; milliseconds. */
  readonly settleMs: number;
  readonly say: (line: string) => void;
}

/** How much the load did: answered calls, and what the handed headset's customers read of it. */
export interface Amount {
  readonly calls: number;
  readonly readings: number;
}

export interface RunResult {
  readonly checks: readonly Check[];
  readonly evidence: Evidence;
  readonly tally: Tally;
  /** All attempts of all calls. */
  readonly attempts: number;
  readonly dataDir: string;
  /** A line a round, with its time. */
  readonly happened: readonly string[];
  /** From the end of the last round until nothing was left. */
  readonly settledInMs: number;
}

/** How long nothing may arrive before it counts as quiet. */
const quietMs = 1000;
/** How long a quiet run that looks broken may take to mend. */
const patienceMs = 8000;
const readyMs = 60_000;
/** How long the load may take for what it must do at least. */
const enoughMs = 180_000;
/** Share of callbacks that the integrator's server fails while there are faults. */
const failedCallbacks = 0.02;

let current: World | undefined;

/** Ends what the run under way has started; for signals. */
export async function abandon(): Promise<void> {
  await current?.stop();
}

/** One whole run: load and faults, then quiet, then the judgement. The data folder stays. */
export async function run(options: RunOptions): Promise<RunResult> {
  const dataDir = mkdtempSync(join(tmpdir(), `headset-cloud-faults-${options.kind}-`));
  const failing = createRandom(options.seed, 'failing callbacks');
  const world = await startWorld({
    ...options,
    dataDir,
    failsCallback: () => failing.chance(failedCallbacks),
  });
  current = world;
  try {
    const rounds = options.rounds(world);
    const killer = createKiller(world, () => world.ready(readyMs));
    const targets = world.tenants.map((tenant) => ({
      ...tenant,
      headsetsOf: world.headsetsOf,
      sora: world.sora,
    }));
    await Promise.all(targets.map(prepareUpdates));
    const load = startLoad(targets, world.handed.deviceId, options);
    const happened: string[] = [];
    await inject(world, rounds, killer, (line) => {
      happened.push(`${new Date().toISOString()} ${line}`);
      options.say(line);
    });
    const { atLeast } = options;
    if (atLeast)
      await waitFor('the load to do enough', () => isEnough(world, atLeast), { timeoutMs: enoughMs });
    const { evidence, tookMs } = await settle(world, load, killer.tally, options.settleMs);
    writeFileSync(join(dataDir, 'evidence.json'), JSON.stringify(evidence));
    return {
      checks: judge(evidence),
      evidence,
      tally: killer.tally,
      attempts: world.tenants.reduce((sum, t) => sum + t.client.attempts, 0),
      dataDir,
      happened,
      settledInMs: tookMs,
    };
  } finally {
    current = undefined;
    await world.stop();
  }
}

function isEnough({ tenants }: World, { calls, readings }: Amount): boolean {
  const sum = (of: (tenant: World['tenants'][number]) => number) => tenants.reduce((n, t) => n + of(t), 0);
  return sum((t) => t.client.calls.length) >= calls && sum((t) => t.said.readings.length) >= readings;
}

/** Removes a run's folder; for runs that need no looking into. */
export function discard(result: Pick<RunResult, 'dataDir'>): void {
  rmSync(result.dataDir, { recursive: true, force: true });
}

interface RunningLoad {
  /** Starts no more calls; resolves when those under way are answered. */
  end(): Promise<void>;
}

function startLoad(targets: readonly LoadTarget[], handed: string, { load, seed }: RunOptions): RunningLoad {
  let running = true;
  const all = targets.flatMap((target, i) =>
    loops(target, load, (name) => createRandom(seed, `${i} ${name}`)),
  );
  all.push(handoverLoop(targets, handed, (name) => createRandom(seed, name)));
  const ended = Promise.all(all.map((loop) => loop(() => running)));
  // Looked at in `end`; an early failure must not end the process before.
  ended.catch(() => {});
  return {
    async end() {
      running = false;
      await ended;
    },
  };
}

async function inject(
  world: World,
  rounds: readonly Round[],
  killer: ReturnType<typeof createKiller>,
  say: (line: string) => void,
): Promise<void> {
  const width = String(rounds.length).length;
  for (const [i, round] of rounds.entries()) {
    const started = Date.now();
    const notes = await killer.inject(round);
    const brokenMs = Date.now() - started;
    if (!(await world.ready(readyMs))) notes.push(`not ready again after ${readyMs} ms`);
    const readyAfterMs = Date.now() - started - brokenMs;
    await delay(round.restMs);
    const calls = world.tenants.reduce((sum, t) => sum + t.client.calls.length, 0);
    say(
      [
        `round ${String(i + 1).padStart(width)}/${rounds.length}`,
        describeRound(round).padEnd(62),
        `${seconds(brokenMs)}, ready after ${seconds(readyAfterMs)}`,
        `${calls} calls, ${world.integrator.arrivals.length} callbacks`,
        ...notes,
      ].join('  '),
    );
  }
}

/**
 * Everything untouched, all headsets online: waits until nothing is left and nothing arrives any more.
 * What is on its way between two services shows nowhere: a run that looks broken gets a while longer.
 */
async function settle(
  world: World,
  load: RunningLoad,
  tally: Tally,
  settleMs: number,
): Promise<{ evidence: Evidence; tookMs: number }> {
  const started = Date.now();
  const deadline = started + 5 * settleMs;
  await world.calm();
  const tooLate = setTimeout(() => {
    for (const t of world.tenants) t.client.giveUp();
  }, settleMs);
  await load.end();
  clearTimeout(tooLate);
  let arrived = -1;
  let quietSince = Date.now();
  // A busy machine takes longer; who gets on with it is waited for.
  let progressMs = Date.now();
  let fewest = Number.POSITIVE_INFINITY;
  for (;;) {
    const open = await unfinished(world).catch((error: Error) => [error.message]);
    const now = world.integrator.arrivals.length;
    const quiet = open.length === 0 && now === arrived;
    if (!quiet) quietSince = Date.now();
    if (now !== arrived || open.length < fewest) progressMs = Date.now();
    fewest = Math.min(fewest, open.length);
    const late = Date.now() > deadline || Date.now() - progressMs > settleMs / 2;
    if (quiet || late) {
      const evidence = await gather(world, open, tally);
      const broken = judge(evidence).some((c) => c.violations.length > 0);
      if (!broken || late || Date.now() - quietSince > patienceMs) {
        return { evidence, tookMs: Date.now() - started };
      }
    }
    arrived = now;
    await delay(open.length === 0 ? quietMs : 100);
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

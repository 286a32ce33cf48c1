import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Evidence } from './evidence.ts';
import { describeRound, type Round } from './fault.ts';
import { gather, observed, unfinished } from './gather.ts';
import type { Mutation } from './inside/environment.ts';
import { createKiller, type Tally } from './killer.ts';
import { handoverLoop } from './load/handover.ts';
import { loops } from './load/loops.ts';
import type { LoadOptions, LoadTarget } from './load/target.ts';
import { prepareUpdates } from './load/updates.ts';
import { createRandom } from './random.ts';
import type { Check } from './verify/check.ts';
import { verify } from './verify.ts';

import { startWorld, type World } from './world.ts';

export interface RunOptions {
  readonly kind: StackKind;
  readonly seed: number;
  /** Returns the rounds for the available targets of faults. */
  readonly rounds: (world: World) => readonly Round[];
  /** No round begins later than this after the first round; milliseconds. Default: no limit. */
  readonly roundsForMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Mutations of the platform's processes, which remove safeguards. */
  readonly mutations?: readonly Mutation[];
  /** Number of instances of every service and the gateway on the real stack. */
  readonly instances: number;
  readonly load: LoadOptions;
  /** Minimum amount of load. After the rounds, the load continues until it is reached. */
  readonly atLeast?: Amount;
  readonly effectMs: number;
  /**
   * The wait at the end stops after half of this time without progress, and after five times this time; milliseconds.
   */
  readonly settleMs: number;
  readonly say: (line: string) => void;
}

/** Amount of load: answered calls, and readings of the headset that is handed over. */
export interface Amount {
  readonly calls: number;
  readonly readings: number;
}

export interface RunResult {
  readonly checks: readonly Check[];
  readonly evidence: Evidence;
  readonly tally: Tally;
  /** Total attempts of all calls. */
  readonly attempts: number;
  readonly dataDir: string;
  /** One line per round, with its time. */
  readonly happened: readonly string[];
  /** Time from the end of the last round until nothing was unfinished; milliseconds. */
  readonly settledInMs: number;
}

/** The run counts as quiet after this long without an arrival. */
const quietMs = 1000;
/** Maximum time until violations of a quiet run disappear; milliseconds. */
const patienceMs = 8000;
const readyMs = 60_000;
/** Time limit for the minimum amount of load; milliseconds. */
const enoughMs = 180_000;
/** Share of callbacks that the integrator's server fails during the rounds. */
const failedCallbacks = 0.02;

let current: World | undefined;

/** Stops all processes of the current run; for signals. */
export async function abandon(): Promise<void> {
  await current?.stop();
}

/** One complete run: load and faults, the wait at the end, and the checks. The data folder is kept. */
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
    const say = (line: string) => {
      happened.push(`${new Date().toISOString()} ${line}`);
      options.say(line);
    };
    await inject(world, rounds, options.roundsForMs ?? Number.POSITIVE_INFINITY, killer, say);
    const { atLeast } = options;
    if (atLeast)
      await waitFor('the minimum amount of load', () => isEnough(world, atLeast), { timeoutMs: enoughMs });
    const { evidence, tookMs } = await settle(world, load, killer.tally, options.settleMs);
    writeFileSync(join(dataDir, 'evidence.json'), JSON.stringify(evidence));
    return {
      checks: verify(evidence),
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
  return sum((t) => t.client.calls.length) >= calls && sum((t) => t.loadRecord.readings.length) >= readings;
}

/** Removes a run's folder, for runs that need no investigation. */
export function discard(result: Pick<RunResult, 'dataDir'>): void {
  rmSync(result.dataDir, { recursive: true, force: true });
}

interface RunningLoad {
  /** Starts no more calls, and resolves when the open calls are answered. */
  end(): Promise<void>;
}

function startLoad(targets: readonly LoadTarget[], handed: string, { load, seed }: RunOptions): RunningLoad {
  let running = true;
  const all = targets.flatMap((target, i) =>
    loops(target, load, (name) => createRandom(seed, `${i} ${name}`)),
  );
  all.push(handoverLoop(targets, handed, (name) => createRandom(seed, name)));
  const ended = Promise.all(all.map((loop) => loop(() => running)));
  // `end` handles a failure. An earlier failure must not end the process.
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
  forMs: number,
  killer: ReturnType<typeof createKiller>,
  say: (line: string) => void,
): Promise<void> {
  const width = String(rounds.length).length;
  const beganMs = performance.now();
  for (const [i, round] of rounds.entries()) {
    if (performance.now() - beganMs > forMs) {
      say(`time limit reached after ${i} of ${rounds.length} rounds`);
      return;
    }
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
 * Waits without faults and with all headsets online, until nothing is unfinished and nothing more arrives. Events
 * between services are not visible, so a run with violations gets more time.
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
  // Wait as long as there is progress, because a busy machine takes longer.
  let progressMs = Date.now();
  let fewest = Number.POSITIVE_INFINITY;
  for (;;) {
    const open = await unfinished(observed(world)).catch((error: Error) => [error.message]);
    const now = world.integrator.arrivals.length;
    const quiet = open.length === 0 && now === arrived;
    if (!quiet) quietSince = Date.now();
    if (now !== arrived || open.length < fewest) progressMs = Date.now();
    fewest = Math.min(fewest, open.length);
    const late = Date.now() > deadline || Date.now() - progressMs > settleMs / 2;
    if (quiet || late) {
      const evidence = await gather(world, open, tally);
      const broken = verify(evidence).some((c) => c.violations.length > 0);
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

import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { Mutation } from '../../faults/inside/environment.ts';
import { createRandom } from '../../faults/random.ts';
import { checkCase, checkGrowth, checkListener, checkLog, checkUnchanged, isLimited } from './check.ts';
import type { Listener, OpenListener } from './listener.ts';
import { callBeside, held, settled, stillWorks, unchangeable } from './watch.ts';
import { startWorld, type World } from './world.ts';

export interface Options {
  readonly kind: StackKind;
  readonly listeners: readonly Listener[];
  readonly seconds: number;
  readonly seed: number;
  /** Runs only this case. */
  readonly only?: number | undefined;
  /** Mutations of the platform, which remove safeguards. */
  readonly mutations?: readonly Mutation[];
  readonly say: (line: string) => void;
}

interface Running {
  readonly listener: Listener;
  readonly open: OpenListener;
  readonly counts: Map<string, number>;
  limited: number;
  next: number;
}

/** Time before the first measurement of memory; milliseconds. */
const warmUpMs = 3000;
const restMs = 1000;
/** Wait for released memory after a long run, in which V8 releases memory for about 20 s; milliseconds. */
const longQuietMs = 12_000;
/** The run ends after this many failures. */
const mostFailures = 5;
const mostShownBytes = 2048;
const mebi = 1024 ** 2;

/** Sends cases to all listeners at the same time. Returns the problems. */
export async function run(options: Options): Promise<string[]> {
  const failures: string[] = [];
  const world = await startWorld(
    options.kind,
    options.mutations,
    options.seconds > 60 ? longQuietMs : undefined,
  );
  try {
    const listeners: Running[] = [];
    for (const listener of options.listeners) {
      const missing = listener.missing?.(world);
      if (missing !== undefined) options.say(`${listener.name}: skipped, because ${missing}`);
      else
        listeners.push({
          listener,
          open: await listener.open(world),
          counts: new Map(),
          limited: 0,
          next: 0,
        });
    }
    await runListeners(world, listeners, options, failures).catch((error: Error) => {
      failures.push(error.stack ?? String(error));
    });
    for (const [name, managed] of Object.entries(world.stack.processes)) {
      if (!managed.running) failures.push(`${name} has ended`);
      failures.push(...checkLog(name, managed.log()).slice(0, mostFailures));
    }
  } finally {
    await world.stop();
  }
  return failures;
}

async function runListeners(
  world: World,
  listeners: Running[],
  options: Options,
  failures: string[],
): Promise<void> {
  await settled(world);
  const before = await unchangeable(world);
  if (options.only === undefined) await runCases(world, listeners, options, failures);
  else for (const running of listeners) await oneCase(running, options.only, 0, options, failures);
  for (const { listener, open } of listeners) {
    failures.push(...((await open.atEnd?.()) ?? []).map((wrong) => `${listener.name}: ${wrong}`));
  }
  failures.push(...checkUnchanged(before, await unchangeable(world)));
  await stillWorks(world);
}

async function runCases(
  world: World,
  listeners: Running[],
  options: Options,
  failures: string[],
): Promise<void> {
  const runFor = async (ms: number) => {
    const until = Date.now() + ms;
    const lane = async (running: Running, i: number) => {
      while (Date.now() < until && failures.length < mostFailures) {
        await oneCase(running, running.next++, i, options, failures);
      }
    };
    await Promise.all(
      listeners.flatMap((running) =>
        Array.from({ length: running.listener.atOnce }, (_, i) => lane(running, i)),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, restMs));
  };
  await runFor(warmUpMs);
  const heldBefore = await held(world);
  const beside = callBeside(world);
  await runFor(options.seconds * 1000);
  const took = await beside.stop();
  const heldAfter = await held(world);
  const { say } = options;
  for (const { listener, counts, limited } of listeners) {
    say(`${listener.name}: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`);
    failures.push(...checkListener(counts, limited).map((wrong) => `${listener.name}: ${wrong}`));
  }
  const of = (share: number) => Math.round(took[Math.floor(took.length * share)] ?? 0);
  say(`${took.length} valid calls during the cases: p50 ${of(0.5)} ms, p99 ${of(0.99)} ms`);
  for (const [name, { heap, resident, blockedMs }] of Object.entries(heldAfter)) {
    const grown = (now: number, then = 0) => `grew by ${((now - then) / mebi).toFixed(1)} MiB`;
    const then = heldBefore[name];
    say(
      `${name}: heap ${grown(heap, then?.heap)}, resident ${grown(resident, then?.resident)}, event loop blocked for at most ${blockedMs} ms`,
    );
  }
  failures.push(...new Set(beside.wrong), ...checkGrowth(heldBefore, heldAfter));
}

/** Runs one case, which depends only on the seed, the listener's name and the case's number. */
async function oneCase(
  running: Running,
  number: number,
  lane: number,
  { kind, seed, only, say }: Options,
  failures: string[],
): Promise<void> {
  const { listener, open, counts } = running;
  const outcome = await open.one(createRandom(seed, `${listener.name} ${number}`), lane);
  counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1);
  if (isLimited(outcome)) running.limited += 1;
  const shown = outcome.sent.subarray(0, mostShownBytes);
  if (only !== undefined) say(`${listener.name} ${number}: ${outcome.kind}\n${shown.toString('latin1')}`);
  const wrong = checkCase(outcome);
  if (wrong === undefined) return;
  failures.push(
    `${listener.name} ${number}: ${wrong}\n  sent: ${shown.toString('hex')}\n` +
      `  repeat with: make fuzz STACK=${kind} LISTENER=${listener.name} SEED=${seed} ONLY=${number}`,
  );
}

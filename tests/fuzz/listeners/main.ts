import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import { listeners } from './all.ts';
import { undetectedRemovals } from './can-fail.ts';
import { run } from './run.ts';

/**
 * Fuzz test of the platform's listeners. It sends valid input, mutated by a seed, to all listeners at the same time and
 * checks each answer. Afterwards it checks the processes, their memory and logs, and that data is unchanged.
 * Variables: STACK=embedded|real, SECONDS (default 10), SEED (random and printed), LISTENER (only this listener),
 * ONLY=n (only this case of LISTENER), CAN_FAIL=1 (each listener on a platform without a safeguard, which it must
 * detect).
 */
const kind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
const seed = Number(process.env['SEED'] || Date.now() % 1_000_000_000);
const seconds = Number(process.env['SECONDS'] || 10);
const only = process.env['ONLY'] ? Number(process.env['ONLY']) : undefined;
const wanted = process.env['LISTENER'];
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// The platform's processes end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

async function main(): Promise<number> {
  const chosen = listeners.filter(({ name }) => !wanted || name === wanted);
  const names = listeners.map(({ name }) => name).join(', ');
  if (chosen.length === 0) throw new Error(`LISTENER is none of packages, ${names}.`);
  if (only !== undefined && !wanted) throw new Error('ONLY requires LISTENER.');
  const missing = kind === 'real' ? realStackMissing() : undefined;
  if (missing !== undefined) {
    say(`The real stack cannot run on this machine: ${missing}`);
    const demanded = Boolean(process.env['REQUIRE_REAL_STACK']);
    say(demanded ? '0 passed, 1 failed' : '0 passed, 0 failed, 1 skipped');
    return demanded ? 1 : 0;
  }
  say(`fuzz test of the listeners, ${kind} stack: ${seconds} s, SEED=${seed}`);
  const options = { kind, seconds, seed, only, say } as const;
  if (process.env['CAN_FAIL']) return finish(await undetectedRemovals(options));
  const failures = await run({ ...options, listeners: chosen });
  for (const failure of failures) say(failure);
  if (failures.length > 0) {
    say(
      `repeat with: make fuzz STACK=${kind} SECONDS=${seconds} SEED=${seed}${wanted ? ` LISTENER=${wanted}` : ''}`,
    );
  }
  return finish(failures);
}

function finish(failures: readonly string[]): number {
  say(failures.length > 0 ? '0 passed, 1 failed' : '1 passed, 0 failed');
  return failures.length > 0 ? 1 : 0;
}

process.exitCode = await main().catch((error: unknown) => {
  say((error as Error).stack ?? String(error));
  say('0 passed, 1 failed');
  return 1;
});

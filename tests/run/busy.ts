import { spawn, spawnSync } from 'node:child_process';

/**
 * `node busy.ts COUNT COMMAND …` runs a command COUNT times beside four busy loops and exits with 1 if one run fails:
 * a test that depends on the machine's speed fails here.
 */
const [count, command = '', ...args] = process.argv.slice(2);
const loops = Array.from({ length: 4 }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
process.on('exit', () => {
  for (const loop of loops) loop.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

let failed = 0;
for (let i = 1; i <= Number(count); i++) {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) failed += 1;
  process.stdout.write(
    `run ${i} of ${count}: ${status === 0 ? 'passed' : `FAILED\n${stderr.slice(-20_000)}`}\n`,
  );
}
process.exitCode = failed > 0 ? 1 : 0;

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { verdictOf } from './verdict.ts';

/**
 * Queries the registry for known vulnerabilities of production packages (docs/security.md, "Dependencies"). Without an
 * answer, or with a registry without audits, the test is skipped with the reason. The last line has the counts.
 */
const root = resolve(import.meta.dirname, '../..');

function audit(folder: string): Promise<string> {
  return new Promise((done, fail) => {
    // npm's exit code reports the severity; its output has the details.
    execFile(
      'npm',
      ['audit', '--json', '--omit=dev'],
      { cwd: resolve(root, folder), timeout: 60_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout) => {
        if (error?.code === 'ENOENT') fail(new Error(`npm cannot run: ${error.message}`));
        else done(stdout);
      },
    );
  });
}

const counts = { passed: 0, failed: 0, skipped: 0 };
for (const folder of ['.', 'docs-site']) {
  const { verdict, lines } = verdictOf(await audit(folder));
  counts[verdict] += 1;
  process.stdout.write(`${verdict}: ${folder === '.' ? 'the platform' : folder}\n`);
  for (const line of lines) process.stdout.write(`    ${line}\n`);
}
const { passed, failed, skipped } = counts;
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exit(failed > 0 ? 1 : 0);

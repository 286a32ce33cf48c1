import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { judgeAudit } from './judge.ts';

/**
 * Asks the registry for known vulnerabilities of what runs (docs/security.md, "Dependencies"). A registry that
 * does not answer, or knows no such question, is a skip that says so. The last line counts.
 */
const root = resolve(import.meta.dirname, '../..');

function audit(folder: string): Promise<string> {
  return new Promise((done, fail) => {
    // npm's exit code tells what it found; what it wrote tells everything.
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
  const { verdict, lines } = judgeAudit(await audit(folder));
  counts[verdict] += 1;
  process.stdout.write(`${verdict}: ${folder === '.' ? 'the platform' : folder}\n`);
  for (const line of lines) process.stdout.write(`    ${line}\n`);
}
const { passed, failed, skipped } = counts;
process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exit(failed > 0 ? 1 : 0);

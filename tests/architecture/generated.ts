import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Generates the protocols' code into a temporary folder, and compares it with the committed code in proto/gen. */
const proto = resolve(import.meta.dirname, '../../proto');
const fresh = mkdtempSync(join(tmpdir(), 'headset-cloud-gen-'));
try {
  execFileSync('buf', ['generate', '-o', fresh], { cwd: proto, stdio: 'inherit' });
  const files = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((e) => e.isFile())
      .map((e) => join(e.parentPath, e.name).slice(folder.length + 1))
      .sort();
  const wanted = files(join(fresh, 'gen'));
  const there = files(join(proto, 'gen'));
  const different = [...new Set([...wanted, ...there])].filter(
    (f) =>
      !wanted.includes(f) ||
      !there.includes(f) ||
      readFileSync(join(fresh, 'gen', f), 'utf8') !== readFileSync(join(proto, 'gen', f), 'utf8'),
  );
  if (different.length > 0) {
    process.stderr.write(`proto/gen is not current: ${different.join(', ')}. Run: make generate\n`);
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

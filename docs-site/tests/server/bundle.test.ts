import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { dist } from '../support/site.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly port?: number;
  readonly problems?: readonly { readonly setting: string; readonly reason: string }[];
}

/** As in an image: the built folder alone, somewhere else, without sources and packages. */
describe('the built server', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'site-image-'));
    cpSync(dist, folder, { recursive: true, dereference: true });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (env: Record<string, string> = {}): ChildProcess =>
    spawn(process.execPath, ['--max-semi-space-size=1', join(folder, 'server.mjs')], {
      cwd: tmpdir(),
      env: { SITE_LISTEN: '127.0.0.1:0', ADMIN_LISTEN: '127.0.0.1:0', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  async function firstLine({ stdout }: ChildProcess): Promise<Line> {
    assert.ok(stdout);
    const [line] = await once(createInterface(stdout), 'line');
    return JSON.parse(line) as Line;
  }

  test('serves the site beside it, and ends on SIGTERM', { timeout: 60_000 }, async () => {
    const child = run();
    const ended = once(child, 'exit');
    try {
      const { port, message } = await firstLine(child);
      assert.equal(message, 'the site is served');
      const response = await fetch(`http://127.0.0.1:${port}/docs/introduction/about`);
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-security-policy') ?? '', /script-src 'self'/);
      const page = readFileSync(join(folder, 'site/docs/introduction/about/index.html'), 'utf8');
      assert.equal(await response.text(), page);
    } finally {
      child.kill('SIGTERM');
    }
    assert.deepEqual(await ended, [0, null]);
  });

  test('says in one line what is wrong with its settings', { timeout: 60_000 }, async () => {
    const child = run({ STOP_GRACE_MS: 'soon' });
    const ended = once(child, 'exit');
    const { level, problems } = await firstLine(child);
    assert.equal(level, 'fatal');
    assert.match(problems?.[0]?.reason ?? '', /STOP_GRACE_MS: "soon"/);
    assert.deepEqual(await ended, [2, null]);
  });
});

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { dist } from '../support/site.ts';

/** Tests a copy of the built folder without sources and packages, as in a container image. */
describe('the built server', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'site-image-'));
    cpSync(dist, folder, { recursive: true, dereference: true });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (env: Record<string, string>): ChildProcess =>
    spawn(process.execPath, ['--max-semi-space-size=1', join(folder, 'server.mjs')], {
      cwd: tmpdir(),
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });

  test('serves the site of its folder, and ends on SIGTERM', { timeout: 60_000 }, async () => {
    const [port, adminPort] = await freePorts(2);
    const child = run({ SITE_LISTEN: `127.0.0.1:${port}`, ADMIN_LISTEN: `127.0.0.1:${adminPort}` });
    const ended = once(child, 'exit');
    try {
      assert.ok(child.stdout);
      for await (const line of createInterface(child.stdout)) if (JSON.parse(line).message === 'ready') break;
      const response = await fetch(`http://127.0.0.1:${port}/docs/introduction/about`);
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-security-policy') ?? '', /script-src 'self'/);
      const page = readFileSync(join(folder, 'site/docs/introduction/about/index.html'), 'utf8');
      assert.equal(await response.text(), page);
      const admin = `http://127.0.0.1:${adminPort}`;
      assert.equal((await fetch(`${admin}/readyz`)).status, 200);
      const metrics = await (await fetch(`${admin}/metrics`)).text();
      assert.match(metrics, /^site_http_responses_total\{status="200",service="docs-site"\} 1$/m);
      assert.match(metrics, /^headset_build_info\{version="\d/m);
    } finally {
      child.kill('SIGTERM');
    }
    assert.deepEqual(await ended, [0, null]);
  });

  for (const [setting, value, reason] of [
    ['STOP_GRACE_MS', 'soon', /^STOP_GRACE_MS: "soon"/],
    ['SITE_LISTEN', 'nonsense', /^SITE_LISTEN: "nonsense"/],
    ['SITE_DIST', '/no/such/folder', /^There is no complete built site in \/no\/such\/folder .*make site/],
  ] as const) {
    test(`logs one line for a wrong ${setting} and exits`, { timeout: 60_000 }, async () => {
      const child = run({ [setting]: value });
      assert.ok(child.stdout);
      const [written, ended] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      const { level, message, problems } = JSON.parse(written);
      assert.deepEqual([level, message, ended], ['fatal', 'wrong configuration', [2, null]]);
      assert.equal(problems[0].setting, setting);
      assert.match(problems[0].reason, reason);
    });
  }
});

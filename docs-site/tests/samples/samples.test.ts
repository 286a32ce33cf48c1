import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { type Guide, type Language, languages, readGuides } from './extract.ts';
import { startPlatform } from './platform.ts';
import { testRecordings } from './recordings.ts';
import { type Outcome, runSession } from './session.ts';
import { findExpress, findFlask, findHc, findProgram, findPython, type Tool } from './tools.ts';

// Runs every sample of the guides, in page order, with a separate platform.

const guides = readGuides(resolve(import.meta.dirname, '../../content/docs'));
/** Set by tests/tools to list the samples without installing or starting anything. */
const onlyListed = process.env['CHECK_LIST'] ? { missing: 'only listed' } : undefined;
const [express, flask, python, curl, openssl, hc] = await Promise.all([
  onlyListed ?? findExpress(),
  onlyListed ?? findFlask(),
  findPython(),
  findProgram('curl'),
  findProgram('openssl'),
  onlyListed ?? findHc(),
]);

/** Reason why the samples of a page cannot run in a language on this machine; undefined if they can. */
function missing({ samples }: Guide, language: Language): string | undefined {
  const code = samples
    .filter((sample) => sample.language === language && sample.norun === undefined)
    .map((sample) => sample.code)
    .join('\n');
  const needed: readonly (readonly [RegExp, Tool])[] = {
    bash: [[/./, curl] as const, [/\bopenssl\b/, openssl] as const, [/\bpython3\b/, python] as const],
    js: [[/from 'express'/, express] as const],
    python: [[/./, python] as const, [/\bflask\b/, flask] as const],
  }[language];
  for (const [pattern, tool] of needed) if ('missing' in tool && pattern.test(code)) return tool.missing;
  return undefined;
}

/** Package that a sample uploads. Each language uses a separate version, because versions cannot be overwritten. */
async function filesOf({ samples }: Guide, language: Language): Promise<Record<string, Uint8Array>> {
  const upload = samples.find((sample) => sample.language === language && sample.name === 'upload');
  const versionName = /version\W+(\d[\d.]*)/.exec(upload?.code ?? '')?.[1];
  return versionName ? { 'app.apk': await makeApk({ package: 'com.example.app', versionName }) } : {};
}

const platform = onlyListed ? undefined : await startPlatform().catch((error: Error) => error);
if (platform && !(platform instanceof Error)) after(() => platform.stop());

test('make up starts', { skip: onlyListed?.missing ?? false }, () => {
  if (platform instanceof Error) throw platform;
});

for (const guide of guides) {
  for (const language of languages) {
    if (platform instanceof Error) continue;
    const skip = missing(guide, language) ?? onlyListed?.missing ?? false;
    const isRun = guide.samples.some((one) => one.language === language && one.norun === undefined);
    describe(`${guide.file}, ${language}`, { skip }, () => {
      let outcomes: readonly Outcome[] = [];
      before(async () => {
        const givenUp = guide.samples.some(({ code }) => code.includes('state=dead'));
        // Without a sample to run, the language's program may be missing.
        if (!platform || !isRun) return;
        const values = await platform.renew({ givenUp });
        outcomes = await runSession(guide, language, values, {
          port: platform.port,
          files: await filesOf(guide, language),
          ...('path' in hc && { commands: hc.path }),
          ...('path' in express && { nodeModules: express.path }),
          ...('path' in flask ? { python: flask.path } : 'path' in python && { python: python.path }),
        });
      });
      for (const { name, line, norun, language: of } of guide.samples) {
        if (of !== language) continue;
        test(`${guide.file}:${line} ${name} (${language})`, {
          skip: norun !== undefined && `not run: ${norun}`,
        }, () => {
          const outcome = outcomes.find(({ sample }) => sample.name === name);
          assert.ok(outcome, 'the sample was not run');
          if (outcome.problem !== undefined) assert.fail(outcome.problem);
        });
      }
    });
  }
}

const sora = guides.find(({ file }) => file.endsWith('sora.mdx'));
if (sora && platform && !(platform instanceof Error)) {
  testRecordings(platform, sora, 'js', '');
  if ('path' in python) testRecordings(platform, sora, 'python', python.path);
}

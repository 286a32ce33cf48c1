import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { guarded } from './guard.ts';

/** Loaded before each test file. Skips tests that the release does not have: they test newer behavior. */
const { testPath = '' } = expect.getState();
const before = join(process.env['MIXED_RELEASE'] ?? '', relative(root, testPath));
const text = existsSync(before) ? readFileSync(before, 'utf8') : '';
if (text !== readFileSync(testPath, 'utf8')) {
  globalThis.it = guarded(globalThis.it, text);
  globalThis.test = globalThis.it;
}

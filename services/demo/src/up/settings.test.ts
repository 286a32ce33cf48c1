import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from './settings.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'up-settings-'));
  file = join(folder, 'my.settings');
});
afterEach(() => rmSync(folder, { recursive: true }));

const lines = 'LOG_LEVEL=debug\r\n# of mine\r\nOTEL_SDK_DISABLED=3\r\n';

test('a file that an editor on Windows wrote is read', () => {
  writeFileSync(file, `\uFEFF${lines}`);
  expect(readSettings(file)).toEqual({ LOG_LEVEL: 'debug', OTEL_SDK_DISABLED: '3' });
});

test('a file in UTF-16 is rejected with an error that names the encoding', () => {
  writeFileSync(file, `\uFEFF${lines}`, 'utf16le');
  expect(() => readSettings(file)).toThrow(
    `SETTINGS=${file} cannot be read: it is UTF-16. Save it as UTF-8. It is a file of KEY=VALUE lines`,
  );
});

import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostilePackages } from '../testing/hostile-packages.ts';
import { checkFile } from './check-file.ts';

const claimed = { package: 'com.example.app', version: '1.0.0' };
const declared = { kind: 'software', ...claimed } as const;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(hostilePackages(claimed))(
  '$what ends in a told refusal, and nothing is written',
  async ({ make, reason }) => {
    const path = join(folder, 'a.apk');
    writeFileSync(path, make());
    const fd = openSync(path, 'r');
    try {
      expect(await checkFile(fd, declared)).toEqual({
        rejection: { rule: expect.any(String), reason: expect.stringMatching(reason) },
      });
    } finally {
      closeSync(fd);
    }
    expect(readdirSync(folder)).toEqual(['a.apk']);
  },
);

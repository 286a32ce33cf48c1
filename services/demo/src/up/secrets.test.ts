import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateHeadsetKey } from '@headset-cloud/rules/headset-key.ts';
import { Refusal } from './folder.ts';
import { headsetKeyFileIn, integratorKeyFile, issuerClients, refuseDamagedKeys } from './secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'up-secrets-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns the message of the Refusal. */
function refusal(check: () => unknown): string {
  try {
    check();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  throw new Error('the start was not refused');
}

test('a new folder gets a new client, and the folder of an earlier run keeps its client', () => {
  expect(issuerClients(folder)).toEqual([{ clientId: 'demo-client', clientSecret: expect.any(String) }]);
  refuseDamagedKeys(folder);
  const clients = [{ clientId: 'one', clientSecret: 'secret' }];
  writeFileSync(join(folder, 'issuer-clients.json'), JSON.stringify(clients));
  writeFileSync(integratorKeyFile(folder), 'k'.repeat(43));
  writeFileSync(headsetKeyFileIn(folder), JSON.stringify(generateHeadsetKey('350000000000006').file));
  expect(issuerClients(folder)).toEqual(clients);
  refuseDamagedKeys(folder);
});

test.each(['', '{', '[]', '{}', '[null]', '[{"clientId": "a", "clientSecret": ""}]'])(
  'clients %j prevent the start with an error that names the file',
  (content) => {
    const file = join(folder, 'issuer-clients.json');
    writeFileSync(file, content);
    expect(refusal(() => issuerClients(folder))).toContain(`${file} does not hold the issuer's clients`);
  },
);

test.each([
  ['integrator.key', '', "the application's authentication key"],
  ['integrator.key', 'short', "the application's authentication key"],
  ['headset-key.json', '', "the headset's key"],
  [
    'headset-key.json',
    '{"deviceId": "350000000000006", "keyId": "a", "privateKeyPem": ""}',
    "the headset's key",
  ],
])('%s with %j prevents the start with an error that names the file', (name, content, what) => {
  writeFileSync(join(folder, name), content);
  expect(refusal(() => refuseDamagedKeys(folder))).toContain(`${join(folder, name)} does not hold ${what}`);
});

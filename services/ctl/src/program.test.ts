import { createSign, createVerify } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import { ago } from '@headset-cloud/runtime/testing/ago.ts';
import { type Listener, openListener, thumbprint } from './testing/listener.ts';
import { run } from './testing/run.ts';

let listener: Listener;
let directory: string;
const imei = '356938035643809';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctl-'));
});
afterEach(async () => {
  await listener?.close();
  rmSync(directory, { recursive: true });
});

const ctl = (args: string, env: Record<string, string> = { ADMIN_URL: listener.url }) => run(args, env);

test('answers are tables, or JSON with --json', async () => {
  listener = await openListener();
  expect(await ctl('developers list')).toEqual({
    code: 0,
    out: 'DEVELOPER  NAME  CLIENTS\nacme       Acme  one, two\n',
    err: '',
  });
  const { out } = await ctl('developers list --json');
  expect(JSON.parse(out)).toEqual({
    developers: [{ developerId: 'acme', name: 'Acme', clientIds: ['one', 'two'] }],
  });
  expect((await ctl('applications list')).out).toContain('No applications. Create one');
});

test.each([
  [`devices put ${imei}`, imei],
  ['developers put acme --name Acme --client one two', 'one, two'],
  ['applications create app --developer acme', 'acme'],
  ['devices list --limit 2', 'There may be more: --after 356938035643801'],
  [`transactions list ${imei}`, '42           accepted'],
  [`transactions list ${imei} --open`, 'No unprocessed transactions.'],
  ['transactions show 42', 'canceled'],
  ['deliveries list --state dead', 'dead'],
  ['deliveries show n1', '{"a":1}'],
  ['deliveries redeliver n1 n2', 'n2'],
  [`devices keys remove ${imei} k`, 'removed  k'],
  [`plans put app ${imei} --video basic-200 --speech none`, 'video        basic 200'],
  ['plans list app', 'basic 100  none'],
  ['usage add u1 app --kind video --started 2026-11-10T12:00:00Z --duration-ms 1', 'added  yes'],
  ['usage add u2 app --kind video --started 2026-11-10T12:00:00Z --duration-ms 1', 'no, it exists already'],
  ['usage list app --month 2026-09 --limit 7 --offset 14', 'app-2026-9-7-14  -       speech'],
  ['bill show app --month 2026-11', 'activated now         2'],
  ['bill show app --month 2025-09', 'activated now         -'],
  ['sora endpoints list', 'No endpoints. Add one'],
  ['sora default-version 2024.1.0', 'default version  2024.1.0'],
  ['recordings list --application app', 'R1         uploading  app          -        0/9'],
  ['recordings list --limit 1', 'No recordings.'],
])('%s', async (args, shown) => {
  listener = await openListener();
  const { code, out, err } = await ctl(args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain(shown);
});

describe('headset keys', () => {
  test('are listed with name, registration and last use', async () => {
    listener = await openListener();
    expect((await ctl(`headset-keys list ${imei}`)).out).toBe(
      [
        'KEY  NAME            REGISTERED                LAST USED',
        'k1   at the factory  1970-01-01T00:00:01.000Z  1970-01-01T00:00:02.000Z',
        'k2   -               -                         -',
        '',
      ].join('\n'),
    );
  });

  test('are listed of all devices of an application, or of a developer, application by application and page by page', async () => {
    listener = await openListener({ applications: ['a', 'b'] });
    const { code, out } = await ctl('headset-keys list --developer acme');
    const key = 'k1   at the factory  1970-01-01T00:00:01.000Z  1970-01-01T00:00:02.000Z';
    const none = '-    -               -                         -';
    expect({ code, out }).toEqual({
      code: 0,
      out: [
        'DEVICE  KEY  NAME            REGISTERED                LAST USED',
        ...[`a-1     ${key}`, `a-2     ${none}`, `b-1     ${key}`, `b-2     ${none}`, ''],
      ].join('\n'),
    });
    const json = JSON.parse((await ctl('headset-keys list --application b --json')).out);
    expect(json.devices.map((one: { deviceId: string }) => one.deviceId)).toEqual(['b-1', 'b-2']);
    expect((await ctl(`headset-keys list --device ${imei}`)).out).toBe(
      (await ctl(`headset-keys list ${imei}`)).out,
    );
  });

  test.each(['', ` ${imei} --developer acme`, ' --developer ', ` ${imei} --device ${imei}`])(
    'the owner of the listed keys must be given exactly once: "%s"',
    async (flags) => {
      listener = await openListener({ applications: ['a'] });
      expect(await ctl(`headset-keys list${flags}`)).toMatchObject({
        ...{ code: 2, out: '' },
        err: expect.stringMatching(
          /^Give (one of --device, --application and --developer|the IMEI once)\.\n$|'--developer <developerId>' is empty\n/,
        ),
      });
    },
  );

  test('are generated with a name, and revoked one at a time', async () => {
    listener = await openListener({ keyIdOf: thumbprint });
    const path = join(directory, 'key.json');
    expect((await ctl(`headset-keys generate ${imei} --name spare --out ${path}`)).code).toBe(0);
    expect(listener.keyNames).toEqual(['spare']);
    expect((await ctl(`headset-keys revoke ${imei} k1`)).out).toBe('revoked  k1\n');
    expect(listener.removedKeys).toEqual(['k1']);
  });

  test('all of a developer are shown by --dry-run, and revoked application by application, page by page', async () => {
    listener = await openListener({ applications: ['a', 'b'] });
    const dry = await ctl('headset-keys revoke-all --developer acme --dry-run');
    expect(dry.out).toContain('4 of 4 devices would be revoked.');
    expect(listener.removedKeys).toEqual([]);
    const { out } = await ctl('headset-keys revoke-all --developer acme');
    expect(out).toContain('4 of 4 devices revoked.');
    expect(listener.removedKeys).toEqual(['a-1', 'a-2', 'b-1', 'b-2']);
  });

  test('all of a device, or of an application, as JSON', async () => {
    listener = await openListener();
    const { out } = await ctl(`headset-keys revoke-all --device ${imei} --json`);
    expect(JSON.parse(out).devices).toEqual([{ deviceId: imei, keyIds: ['k1', 'k2'] }]);
    await ctl('headset-keys revoke-all --application app');
    expect(listener.removedKeys).toEqual([imei, 'app-1', 'app-2']);
  });

  test.each(['', ` --device ${imei} --developer x`, ' --developer '])(
    'the owner of the revoked keys must be given by exactly one flag: "%s"',
    async (flags) => {
      listener = await openListener({ applications: ['a'] });
      const { code, err } = await ctl(`headset-keys revoke-all${flags}`);
      expect(code).toBe(2);
      expect(err).toMatch(
        /^Give one of --device, --application and --developer\.\n$|'--developer <developerId>' is empty\n/,
      );
      expect(listener.removedKeys).toEqual([]);
    },
  );
});

describe('hardware models', () => {
  const put =
    'hardware put HS-1 --shape box --name One --camera landscape:front:1920x1080 --camera portrait:left:2x3';

  test('are put with their cameras and listed', async () => {
    listener = await openListener();
    expect(await ctl(put)).toEqual({
      code: 0,
      out: [
        'identifier   HS-1',
        'name         One',
        'description  -',
        'shape        box',
        'cameras      landscape front 1920x1080',
        '             portrait left 2x3',
        '',
      ].join('\n'),
      err: '',
    });
    expect((await ctl('hardware put HS-2 --shape neck-mounted')).code).toBe(0);
    expect((await ctl('hardware list')).out).toBe(
      [
        'IDENTIFIER  NAME  SHAPE         CAMERAS',
        'HS-1        One   box           landscape front 1920x1080, portrait left 2x3',
        'HS-2        HS-2  neck-mounted  -',
        '',
      ].join('\n'),
    );
    const { models } = JSON.parse((await ctl('hardware list --json')).out);
    expect(models[0].cameras[1]).toEqual({
      direction: 'portrait',
      mountedPosition: 'left',
      maxWidth: 2,
      maxHeight: 3,
    });
  });

  test('an empty list shows how to add a model', async () => {
    listener = await openListener();
    expect((await ctl('hardware list')).out).toContain('ctl hardware put IDENTIFIER');
  });
});

describe('a device', () => {
  test('is put with a destination; a put without a destination keeps it', async () => {
    listener = await openListener();
    expect((await ctl(`devices put ${imei} --destination Osaka`)).out).toContain('destination     Osaka');
    expect((await ctl(`devices put ${imei}`)).out).toContain('destination     (unchanged)');
    expect((await ctl(`devices put ${imei} --destination `)).out).toContain('destination     -');
  });

  // protects against headsets/copied-identity
  test('is shown as probably used by two headsets', async () => {
    listener = await openListener({ device: { keyIds: ['k1'], sharedIdentity: true } });
    expect((await ctl(`devices show ${imei}`)).out).toContain(
      'keys            k1\nidentity        probably used by two headsets\n',
    );
  });

  test('is shown with its reported state', async () => {
    listener = await openListener({
      device: {
        ...{ keyIds: ['k1', 'k2'], activated: true, applicationId: 'app', clientVersion: '3.4.0' },
        ...{ headsetNetwork: 'connectivity_offline', headsetNetworkAtMs: 5000n },
        status: {
          ...{ firmwareVersion: '9.1', languages: ['ja', 'en'], batteryPercentage: 0 },
          apps: [
            { package: 'a.b', version: '1' },
            { package: 'c.d', version: '2' },
          ],
          ...{ power: 'started', powerUpdatedAtMs: 1000n, batteryUpdatedAtMs: 2000n },
          ...{ network: 'connectivity_online', networkUpdatedAtMs: 4000n },
          ...{ latitude: 35.5, longitude: -1.25, locationUpdatedAtMs: 3000n },
        },
      },
    });
    expect((await ctl(`devices show ${imei}`)).out).toBe(
      [
        `device           ${imei}`,
        'activated by     app',
        'destination      -',
        'client version   3.4.0',
        'keys             k1',
        '                 k2',
        'firmware         9.1',
        'languages        ja, en',
        'apps             a.b 1',
        '                 c.d 2',
        'power            started  (1970-01-01T00:00:01.000Z)',
        'wearing          -',
        'network          connectivity_online  (1970-01-01T00:00:04.000Z)',
        'headset network  connectivity_offline  (1970-01-01T00:00:05.000Z)',
        'charging         -',
        'battery          0 %  (1970-01-01T00:00:02.000Z)',
        'location         35.5, -1.25  (1970-01-01T00:00:03.000Z)',
        '',
      ].join('\n'),
    );
  });
});

test('a contract of thousands of IMEIs is shown completely, read page by page', async () => {
  const contract = Array.from({ length: 2000 }, (_, n) => String(356938035000000 + n));
  listener = await openListener({ contract });
  const { out } = await ctl('contracts show app --json');
  expect(JSON.parse(out)).toEqual({
    contract: { applicationId: 'app', activationLimit: 0, deviceIds: contract, activated: 0 },
  });
  const { out: text } = await ctl('contracts show app');
  expect(text.match(/\d{15}/g)).toEqual(contract);
});

test('a contract of thousands of IMEIs is put in parts', async () => {
  listener = await openListener();
  const path = join(directory, 'imeis');
  writeFileSync(path, Array.from({ length: 2500 }, (_, n) => 356938035000000 + n).join('\n'));
  const { code } = await ctl(`contracts put app --limit 9 --add-file ${path} --remove ${imei}`);
  expect(code).toBe(0);
  expect(listener.contractCalls.map((call) => call.addDeviceIds.length)).toEqual([1000, 1000, 500]);
  expect(listener.contractCalls.map((call) => call.removeDeviceIds.length)).toEqual([1, 0, 0]);
  expect(new Set(listener.contractCalls.map((call) => call.activationLimit))).toEqual(new Set([9]));
  // Only the first part changes the limit.
  expect(listener.contractCalls.map((call) => call.keepActivationLimit)).toEqual([false, true, true]);
});

describe('a change of a contract keeps values that it does not name', () => {
  test('the limit of devices, also with an older service that sets the limit of each call', async () => {
    listener = await openListener({ contract: [imei], contractLimit: 7 });
    expect((await ctl(`contracts put app --add ${imei}`)).code).toBe(0);
    expect((await ctl('contracts put app --calls-per-second 5')).code).toBe(0);
    expect((await ctl('contracts put app --limit 0')).code).toBe(0);
    expect(listener.contractCalls.map((call) => [call.keepActivationLimit, call.activationLimit])).toEqual([
      [true, 7],
      [true, 7],
      [false, 0],
    ]);
    expect((await ctl(`contracts put app --add ${imei} --dry-run`)).out).toMatch(/limit +7 → 7\n/);
  });

  test.each([`--add ${imei}`, `--add ${imei} --dry-run`])(
    'a new contract needs a limit: contracts put app %s',
    async (options) => {
      listener = await openListener();
      expect(await ctl(`contracts put app ${options}`)).toEqual({
        ...{ code: 2, out: '' },
        err: 'The application app has no contract yet: the first one needs a limit, for example ctl contracts put app --limit 10\n',
      });
      expect(listener.contractCalls).toEqual([]);
    },
  );

  test('a command line without a change is rejected', async () => {
    listener = await openListener({ contract: [imei] });
    expect(await ctl('contracts put app')).toMatchObject({
      ...{ code: 2, out: '' },
      err: expect.stringContaining('Nothing to change: give --limit, --add,'),
    });
    expect(listener.contractCalls).toEqual([]);
  });
});

describe('a dry run only shows the change of a contract', () => {
  const named = Array.from({ length: 1500 }, (_, n) => String(356938035000000 + n));
  const [first = '', second = ''] = named;
  const change = `--limit 9 --add ${first} ${imei} --remove ${second} 350000000000000 --dry-run`;

  test('of an application with a contract', async () => {
    listener = await openListener({ contract: named });
    const { code, out } = await ctl(`contracts put app ${change}`);
    expect(code).toBe(0);
    expect(out).toMatch(/limit +0 → 9\n/);
    expect(out).toMatch(/devices +1500 → 1500\n/);
    expect(out).toMatch(new RegExp(`add +${imei}\\n`));
    expect(out).toMatch(new RegExp(`remove +${second}\\n`));
    expect(out).toContain('Nothing was changed');
    const { contract } = JSON.parse((await ctl(`contracts put app ${change} --json`)).out);
    expect(contract).toMatchObject({ activationLimit: 9 });
    expect(contract.deviceIds).toContain(imei);
    expect(contract.deviceIds).not.toContain(second);
    expect(listener.contractCalls).toEqual([]);
  });

  test('of an application without a contract', async () => {
    listener = await openListener();
    expect((await ctl(`contracts put app ${change}`)).out).toMatch(/limit +9 \(there is no contract yet\)/);
    expect(listener.contractCalls).toEqual([]);
  });
});

test('plans and usage reach billing unchanged', async () => {
  listener = await openListener();
  await ctl(`plans put app ${imei} --video basic-100 --speech ja`);
  await ctl(`plans put app ${imei} --video none --speech none`);
  await ctl('usage add u1 app --kind speech --started 2026-11-10T12:00:00+09:00 --duration-ms 90000');
  await ctl(
    `usage add u2 app --device ${imei} --kind video --started 2026-11-10T03:00:00.001Z --duration-ms 0`,
  );
  expect(listener.billingCalls).toEqual([
    {
      applicationId: 'app',
      deviceId: imei,
      plans: { videoMeeting: 'basic 100', speechRecognition: 'ja' },
    },
    { applicationId: 'app', deviceId: imei, plans: {} },
    {
      usage: {
        usageId: 'u1',
        applicationId: 'app',
        kind: 'USAGE_KIND_SPEECH_RECOGNITION',
        startedAtMs: '1794279600000',
        durationMs: '90000',
      },
    },
    {
      usage: {
        usageId: 'u2',
        applicationId: 'app',
        deviceId: imei,
        kind: 'USAGE_KIND_VIDEO_MEETING',
        startedAtMs: '1794279600001',
      },
    },
  ]);
});

test('a bill is shown completely, and an error is reported', async () => {
  listener = await openListener();
  const { out } = await ctl('bill show app --month 2026-04');
  expect(out).toBe(
    [
      'devices               3',
      'activated now         2',
      'others, video hours   4',
      'others, speech hours  0',
      '',
      'DEVICE           VIDEO PLAN  SPEECH PLAN  VIDEO HOURS  SPEECH HOURS',
      `${imei}  none        ja           7            0`,
      '',
    ].join('\n'),
  );
  expect(await ctl('bill show app --month 2026-13')).toEqual({
    code: 1,
    out: '',
    err: 'month is not a whole number from 1 to 12.\n',
  });
});

// protects against operators/key-file
describe('a generated key', () => {
  test('is readable only by its owner, and its public key is registered', async () => {
    listener = await openListener({ keyIdOf: thumbprint });
    const path = join(directory, 'key.json');
    const { code, out } = await ctl(`devices keys generate ${imei} --out ${path}`);
    expect(code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const file = JSON.parse(readFileSync(path, 'utf8'));
    expect(file).toEqual({ deviceId: imei, keyId: expect.any(String), privateKeyPem: expect.any(String) });
    expect(out).toContain(file.keyId);
    expect(out).not.toContain('PRIVATE');
    const signature = createSign('sha256').update('text').sign(file.privateKeyPem);
    const registered = listener.keys.get(imei) ?? '';
    expect(createVerify('sha256').update('text').verify(registered, signature)).toBe(true);
  });

  test('is never written over another', async () => {
    listener = await openListener({ keyIdOf: thumbprint });
    const path = join(directory, 'key.json');
    writeFileSync(path, 'precious');
    const { code, err } = await ctl(`devices keys generate ${imei} --out ${path}`);
    expect(code).toBe(2);
    expect(err).toContain('Choose another file with --out');
    expect(readFileSync(path, 'utf8')).toBe('precious');
    expect(listener.keys.size).toBe(0);
  });

  test.each(['silent', 'failing'] as const)(
    'keeps its file while it is unknown whether the key is registered: the service is %s',
    async (trouble) => {
      listener = await openListener({ trouble, keyIdOf: thumbprint });
      const path = join(directory, 'key.json');
      const timeout = trouble === 'silent' ? ' --timeout-ms 100' : '';
      const { code, err } = await ctl(`headset-keys generate ${imei} --out ${path}${timeout}`);
      expect(code).toBe(trouble === 'silent' ? 3 : 1);
      const { keyId } = JSON.parse(readFileSync(path, 'utf8'));
      expect(err).toContain(
        `The key ${keyId} may be registered. Keep ${path}, and check: ctl headset-keys list`,
      );
      expect(err).not.toContain('safe to repeat');
    },
  );

  test('keeps its file when the service registered the key under another id', async () => {
    listener = await openListener({ keyIdOf: () => 'another-id' });
    const path = join(directory, 'key.json');
    const { code, out, err } = await ctl(`headset-keys generate ${imei} --out ${path}`);
    expect([code, out]).toEqual([1, '']);
    const { keyId } = JSON.parse(readFileSync(path, 'utf8'));
    expect(err).toBe(
      `The key is registered, but the service names it another-id instead of ${keyId}. The key file ${path} is kept.\n` +
        `Check that ctl and the service have the same version. To generate another key, revoke this one first: ctl headset-keys revoke ${imei} another-id\n`,
    );
    const written = await ctl(`headset-keys generate ${imei} --out -`);
    expect(written.code).toBe(1);
    expect(written.err).toContain('instead of');
    expect(written.err).toContain('Keep the key that was written.');
    expect(written.err).not.toContain('is not registered');
  });

  test('leaves no file when the key could not be registered', async () => {
    listener = await openListener();
    const path = join(directory, 'key.json');
    const { code, err } = await ctl(`devices keys generate ${imei} --out ${path}`);
    expect({ code, err }).toEqual({ code: 1, err: 'The thing does not exist. Put it first.\n' });
    expect(existsSync(path)).toBe(false);
  });
});

test.each(['-yr4q5W-09Q_wFq6m8OIOqoRyP2zPFdKuChEg5rhk1k', '--h4q5W-09Q_wFq6m8OIOqoRyP2zPFdKuChEg5rhk1k'])(
  'a key id that looks like an option is removed like any other: %s',
  async (keyId) => {
    listener = await openListener();
    const { code, out } = await ctl(`devices keys remove ${imei} ${keyId} --json`);
    expect({ code, answer: JSON.parse(out), removed: listener.removedKeys }).toEqual({
      code: 0,
      answer: {},
      removed: [keyId],
    });
  },
);

test('an endpoint is put with the secret of a file, and listed', async () => {
  listener = await openListener();
  const path = join(directory, 'secret');
  writeFileSync(path, 'a-secret-of-sora\n');
  const put =
    'sora endpoints put one --signaling-url wss://sora.example.com --sora-version 2024.1.0 --limit 5';
  expect(await ctl(`${put} --secret-file ${path}`)).toEqual({
    code: 0,
    out: 'endpoint   one\nversion    2024.1.0\nsignaling  wss://sora.example.com\narchive    -\ntaken      0/5\n',
    err: '',
  });
  expect(listener.endpoints.map(({ webhookSecret }) => webhookSecret)).toEqual(['a-secret-of-sora']);
  expect((await ctl('sora endpoints list')).out).toBe(
    'ENDPOINT  VERSION             TAKEN  SIGNALING               ARCHIVE\n' +
      'one       2024.1.0 (default)  0/5    wss://sora.example.com  -\n',
  );
  expect(await ctl(`${put} --secret-file ${path}-not-there`)).toMatchObject({ code: 2, out: '' });
  writeFileSync(path, '\n');
  expect(await ctl(`${put} --secret-file ${path}`)).toMatchObject({
    ...{ code: 2, err: `The file of --secret-file, ${path}, is empty.\n` },
  });
  writeFileSync(path, '\uFEFFa-secret-of-sora\r\n', 'utf16le');
  expect(await ctl(`${put} --secret-file ${path}`)).toMatchObject({
    ...{ code: 2, err: '--secret-file cannot be read: it is UTF-16. Save it as UTF-8\n' },
  });
  expect(await ctl('sora endpoints remove two')).toMatchObject({ code: 1, out: '' });
});

describe('the limit of a list is a number from 1 to 1000', () => {
  const lists = [
    ...['audit list', 'devices list', `transactions list ${imei}`, 'transactions find', 'artifacts list'],
    ...['firmware list', 'recordings list', 'deliveries list', 'dead-letters list'],
    'usage list app --month 2026-11',
  ];
  test.each(lists)('ctl %s', async (list) => {
    listener = await openListener();
    for (const limit of ['0', '-1', '1001', '99999999999', '1e2']) {
      const { code, out, err } = await ctl(`${list} --limit ${limit}`);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('It is not a whole number from 1 to 1000.');
    }
  });

  test('the table contains every list with a limit', async () => {
    listener = await openListener();
    const words = (text: string) =>
      [...text.slice(text.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+) /gm)].map(([, word]) => word ?? '');
    const limited: string[] = [];
    for (const group of words((await ctl('--help')).out.split('Examples:')[0] ?? '')) {
      for (const command of words((await ctl(`${group} --help`)).out)) {
        const { out } = await ctl(`${group} ${command} --help`);
        if (/--limit <\w+> +maximum to show/.test(out)) {
          limited.push(`${group} ${command}`);
        }
      }
    }
    expect(limited.sort()).toEqual(lists.map((list) => list.split(' ').slice(0, 2).join(' ')).sort());
  });
});

test('the help of audit lists the filters, an example and the actions', async () => {
  listener = await openListener();
  const { out } = await ctl('audit --help');
  expect(out).toContain('by actor, application, developer, device, action and time');
  expect(out).toContain('$ ctl audit list --application acme-field --actor kim --action PutContract --since');
  const list = (await ctl('audit list --help')).out;
  const form = /ISO 8601\s+with\s+its\s+offset/;
  expect([list, (await ctl('usage add --help')).out]).toEqual([
    expect.stringMatching(form),
    expect.stringMatching(form),
  ]);
  expect(list).toContain('$ ctl audit list --application acme-field');
  expect(list).toMatch(/Actions:\n(.*\n)*.* devices\.PutContract/);
});

describe('errors say what to do, each with its exit code', () => {
  test('the service rejects the call: 1', async () => {
    listener = await openListener();
    expect(await ctl('contracts show app')).toEqual({
      code: 1,
      out: '',
      err: 'The thing does not exist. Put it first.\n',
    });
  });

  test.each([
    'frobnicate',
    'contracts put app',
    'deliveries list --state lost',
    'transactions show abc',
    'hardware put HS-1',
    'hardware put HS-1 --shape box --camera front',
    'hardware put HS-1 --shape box --camera landscape:front:1920',
    `plans put app ${imei} --video basic-200`,
    `plans put app ${imei} --video gold --speech none`,
    'usage add u1 app --kind video --started 2026-11-10T12:00:00 --duration-ms 1',
    'audit list --since 2026-11-10T12:00:00',
    'audit list --until 2026-11-10T12:00',
    'audit list --device 12',
    'artifacts withdraw hardware a.b 1',
    'usage add u1 app --kind video --started 2026-11-10T12:00:00Z --duration-ms -1',
    'usage add u1 app --kind walking --started 2026-11-10T12:00:00Z --duration-ms 1',
    'usage list app',
    'bill show app --month 2026-1',
    'developers list --admin nowhere',
    `devices keys add ${imei} /nonexistent/key.pem`,
  ])('a wrong command line: 2 (%s)', async (args) => {
    listener = await openListener();
    const { code, out, err } = await ctl(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).not.toBe('');
  });

  test('no service at the address: 3, with the address and the next step', async () => {
    listener = await openListener();
    await listener.close();
    const { code, err } = await ctl('developers list');
    expect(code).toBe(3);
    expect(err).toContain(listener.url);
    expect(err).toContain('make up');
  });

  test.each([
    ['silent', 'developers list', 'it is safe to repeat.'],
    ['silent', `headset-keys add ${imei} PEM`, 'it is safe to repeat.'],
    ['silent', 'applications create --developer acme', 'a repeat may take effect again.'],
    ['failing', 'developers list', 'it is safe to repeat.'],
    ['failing', 'applications create --developer acme', 'a repeat may take effect again.'],
  ] as const)('a service that is %s, at %s: %s', async (trouble, args, advice) => {
    listener = await openListener({ trouble, keyIdOf: () => 'k1' });
    const pem = join(directory, 'key.pem');
    writeFileSync(pem, 'a PEM');
    const { code, err } = await ctl(
      `${args.replace('PEM', pem)}${trouble === 'silent' ? ' --timeout-ms 100' : ''}`,
    );
    expect(code).toBe(trouble === 'silent' ? 3 : 1);
    expect(err).toContain('The call may have taken effect');
    expect(err.endsWith(`${advice}\n`)).toBe(true);
  });

  test.each(['devices', 'device-link'])('another service at the address, %s: 3', async (service) => {
    listener = await openListener({ only: 'devices', service });
    const { code, err } = await ctl('deliveries list');
    expect(code).toBe(3);
    expect(err).toContain("is not the operators' listener of notifier");
  });

  test.each(['notifier', 'platform'])('an older service without the call: 3 (%s)', async (service) => {
    listener = await openListener({ only: 'devices', service });
    const { code, err } = await ctl('deliveries list');
    const version = platformVersion();
    expect([code, err]).toEqual([
      3,
      `notifier at ${listener.url} does not have the call ListDeliveries: the service is older than ctl (version ${version}; ctl has version ${version}). Upgrade the service, or use the ctl of its version.\n`,
    ]);
  });

  // protects against operators/token
  test('a missing or wrong token: 4; with the right token it works', async () => {
    listener = await openListener({ token: 'the-right-token' });
    expect((await ctl('developers list')).code).toBe(4);
    const env = { ADMIN_URL: listener.url };
    expect((await ctl('developers list', { ...env, ADMIN_TOKEN: 'wrong' })).code).toBe(4);
    expect((await ctl('developers list', { ...env, ADMIN_TOKEN: 'the-right-token' })).code).toBe(0);
    const path = join(directory, 'token');
    writeFileSync(path, 'the-right-token\n');
    expect((await ctl('developers list', { ...env, ADMIN_TOKEN_FILE: path })).code).toBe(0);
    expect((await ctl(`developers list --token-file ${path}`)).code).toBe(0);
  });
});

test.each([
  ['--operator', 'developers put acme --name Acme --client one --operator ', {}],
  ['--operator', 'status --operator ', {}],
  ['--operator', 'developers list --operator \u200b', {}],
  ['OPERATOR', 'developers list', { OPERATOR: '' }],
])(
  'an empty name of the operator, for example of an empty $USER, is rejected: %s, %s',
  async (source, args, given) => {
    listener = await openListener();
    const { code, out, err } = await ctl(args, { ADMIN_URL: listener.url, ...given });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(source);
    expect(err).toContain('is empty. Give your name for the audit records, for example --operator kim.');
  },
);

test('the most specific address wins', async () => {
  listener = await openListener();
  const nobody = 'http://127.0.0.1:1';
  expect((await ctl('developers list', { ADMIN_URL: nobody, DEVICES_ADMIN: listener.url })).code).toBe(0);
  expect((await ctl(`developers list --admin ${listener.url}`, { DEVICES_ADMIN: nobody })).code).toBe(0);
  expect((await ctl(`developers list --admin ${nobody} --devices-admin ${listener.url}`, {})).code).toBe(0);
});

test('--help lists the commands, with examples', async () => {
  const { code, out } = await ctl('--help', {});
  expect(code).toBe(0);
  for (const word of ['developers', 'deliveries', 'Examples:', 'Exit codes:']) expect(out).toContain(word);
});

describe('all dead deliveries of an application', () => {
  test('are sent again, each once, even if they die again', async () => {
    listener = await openListener({ dead: ['n1', 'n2', 'n3'] });
    expect(await ctl('deliveries redeliver --dead-of app')).toEqual({
      code: 0,
      out: '3 are sent again.\n',
      err: '',
    });
    expect(listener.redelivered).toEqual(['n1', 'n2', 'n3']);
  });

  test('are sent again even if some fail; numbers and failures are reported, and the exit code is 1', async () => {
    listener = await openListener({
      dead: ['n1', 'n2', 'n3', 'n4'],
      refused: { n2: 'conflict', n3: 'unavailable' },
    });
    expect(await ctl('deliveries redeliver --dead-of app')).toEqual({
      ...{ code: 1, out: '' },
      err: expect.stringMatching(
        /^n2: Not now\.\nn3: notifier at \S+ is not available: Not now\..*\n2 sent again, 2 failed\.\n$/,
      ),
    });
    expect(listener.redelivered).toEqual(['n1', 'n4']);
    const { code, out } = await ctl('deliveries redeliver --dead-of app --json');
    expect([code, JSON.parse(out)]).toEqual([
      1,
      {
        redelivered: ['n1', 'n4'],
        failed: [
          { notificationId: 'n2', reason: 'Not now.' },
          { notificationId: 'n3', reason: expect.stringContaining('is not available') },
        ],
        notTried: [],
      },
    ]);
    expect(await ctl('deliveries redeliver n1 n2 n4')).toMatchObject({
      ...{ code: 1, err: 'n2: Not now.\n2 sent again, 1 failed.\n' },
    });
    expect(await ctl('deliveries redeliver n2')).toMatchObject({ code: 1, err: 'Not now.\n' });
  });

  test('are all tried, although the oldest 1,000 stay dead', async () => {
    const dead = Array.from({ length: 1001 }, (_, n) => `n${n}`);
    listener = await openListener({ dead, refused: { n0: 'conflict' } });
    const { code, err } = await ctl('deliveries redeliver --dead-of app');
    expect([code, err.split('\n').at(-2)]).toEqual([1, '1000 sent again, 1 failed.']);
    expect(listener.redelivered).toEqual(dead.slice(1));
  });

  test('are reported as unfinished if an older notifier lists only the oldest', async () => {
    const dead = Array.from({ length: 1001 }, (_, n) => `n${n}`);
    listener = await openListener({ dead, ignoresCreatedAfter: true });
    const { code, err } = await ctl('deliveries redeliver --dead-of app');
    expect([code, err]).toEqual([
      1,
      'The notifier is older than ctl and does not list later dead deliveries. Upgrade the notifier, and run the command again.\n' +
        '1000 sent again, 0 failed; there may be more.\n',
    ]);
    expect(listener.redelivered).toEqual(dead.slice(0, 1000));
  });

  test('are not tried further while the service is unavailable', async () => {
    const refused = Object.fromEntries(['n2', 'n3', 'n4'].map((id) => [id, 'unavailable' as const]));
    listener = await openListener({ dead: ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'], refused });
    const { code, err } = await ctl('deliveries redeliver --dead-of app');
    expect([code, err.split('\n').at(-2)]).toEqual([1, '1 sent again, 3 failed, 2 not tried.']);
    expect(listener.redelivered).toEqual(['n1']);
  });

  test('are only shown in a dry run', async () => {
    listener = await openListener({ dead: ['n1', 'n2'] });
    expect((await ctl('deliveries redeliver --dead-of app --dry-run')).out).toMatch(
      /n1 .*oldest\nn2 .*oldest\n$/,
    );
    expect((await ctl('deliveries redeliver n1 --dry-run')).out).toMatch(/state +dead/);
    expect(listener.redelivered).toEqual([]);
  });

  test('cannot be combined with named deliveries', async () => {
    listener = await openListener();
    for (const args of ['', ' n1 --dead-of app']) {
      expect(await ctl(`deliveries redeliver${args}`)).toMatchObject({ code: 2 });
    }
    expect(listener.redelivered).toEqual([]);
  });
});

test.each([
  ...[
    'deliveries redeliver --dead-of ',
    'deliveries list --application ',
    'transactions find --application ',
  ],
  ...['recordings list --application ', 'applications list --developer ', 'artifacts list --package '],
  ...['firmware list --package ', 'audit list --actor ', 'audit list --developer ', 'audit list --after '],
  ...['audit list --cursor ', 'developers list --token-file ', 'developers put acme --client one '],
])('an option with the value of an unset shell variable is rejected: ctl %s', async (args) => {
  listener = await openListener({ dead: ['n1'] });
  const { code, out, err } = await ctl(args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: the value of option '--[a-z-]+ <\w+(\.\.\.)?>' is empty\n/);
  expect([listener.redelivered, listener.auditCalls]).toEqual([[], []]);
});

test('an option for a text may be empty', async () => {
  listener = await openListener();
  expect((await ctl('hardware put HS-1 --shape box --description ')).code).toBe(0);
});

test('dead letters are read from the services that consume events', async () => {
  listener = await openListener();
  const { out } = await ctl('dead-letters list --help');
  expect(out.replaceAll(/\s+/g, ' ')).toContain(
    '(choices: "transactions", "devices", "notifier", "billing", default:',
  );
  expect((await ctl('dead-letters list --service connectivity')).code).toBe(2);
});

test('transactions are found by application, state and age', async () => {
  listener = await openListener();
  const found = async (args: string) => {
    const { out } = await ctl(`transactions find ${args} --json`);
    return JSON.parse(out).transactions[0];
  };
  const earliestMs = ago(3_600_000);
  const one = await found('--application app --status published --older-than 1h');
  expect(one).toMatchObject({ applicationId: 'app', status: 'TRANSACTION_STATUS_PUBLISHED' });
  expect(Number(one.createdAtMs)).toBeGreaterThanOrEqual(earliestMs);
  expect(Number(one.createdAtMs)).toBeLessThanOrEqual(ago(3_600_000));
  expect(await found('--limit 5')).toMatchObject({
    ...{ applicationId: '', status: 'TRANSACTION_STATUS_UNSPECIFIED', createdAtMs: '0' },
  });
  expect(await ctl('transactions find --older-than soon')).toMatchObject({ code: 2 });
  expect(await ctl('transactions find --status late')).toMatchObject({ code: 2 });
});

test('deliveries are listed newest first, or oldest first', async () => {
  listener = await openListener();
  expect((await ctl('deliveries list --state pending')).out).toContain('newest');
  expect((await ctl('deliveries list --state pending --oldest')).out).toContain('oldest');
});

test('a list of audit records takes a time range and continues after a cursor, also by the earlier option names', async () => {
  listener = await openListener();
  const range = { fromMs: BigInt(Date.UTC(2026, 10, 24)), toMs: BigInt(Date.UTC(2026, 10, 25)), cursor: 'c' };
  await ctl('audit list --since 2026-11-24 --until 2026-11-25T09:00:00+09:00 --after c');
  await ctl('audit list --from 2026-11-24 --to 2026-11-25 --cursor c');
  expect(listener.auditCalls).toMatchObject([range, range]);
  const earliestMs = ago(7_200_000);
  await ctl('audit list --since 2h');
  expect(Number(listener.auditCalls.at(-1)?.fromMs)).toBeGreaterThanOrEqual(earliestMs);
  expect(Number(listener.auditCalls.at(-1)?.fromMs)).toBeLessThanOrEqual(ago(7_200_000));
  expect((await ctl('audit list --help', {})).out).not.toMatch(/--from|--to |--cursor/);
});

test('deliveries are listed by state, also by the option name of 0.1.0', async () => {
  listener = await openListener();
  const { out } = await ctl('deliveries list --state dead');
  expect(out).toMatch(/^n1 +dead /m);
  expect((await ctl('deliveries list --status dead')).out).toBe(out);
});

test('a table that is wider than the terminal shows the fields of each row below each other', async () => {
  listener = await openListener();
  const { out } = await run('developers list', { ADMIN_URL: listener.url }, { columns: 20 });
  expect(out).toBe('developer  acme\nname       Acme\nclients    one, two\n');
});

test('the help of a command lists the options of ctl, too', async () => {
  const { out } = await ctl('devices show --help', {});
  expect(out).toMatch(/Global Options:\n(.*\n)* +--operator <name> /);
});

describe('completion', () => {
  test.each([
    ['de', ['dead-letters', 'deliveries', 'developers', 'devices']],
    ['audit list --fr', []],
    ['audit list --si', ['--since']],
    ['deliveries list --state d', ['dead', 'delivered']],
    ['sora endpoints pu', ['put']],
    ['devices show --opera', ['--operator']],
    ['artifacts withdraw f', ['firmware']],
  ])('of ctl %s', async (words, found) => {
    const { code, out } = await run(['__complete', '--', ...words.split(' ')], {});
    expect({ code, found: out.trim().split('\n').filter(Boolean) }).toEqual({ code: 0, found });
  });

  test('prints a script that calls ctl', async () => {
    expect((await ctl('completion bash', {})).out).toContain(
      `'${process.execPath}' 'ctl' __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}"`,
    );
  });
});

test('--version prints the version of the platform', async () => {
  expect(await ctl('--version', {})).toEqual({ code: 0, out: `${platformVersion()}\n`, err: '' });
});

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readIdentities } from '@headset-cloud/demo/headset/identity.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctl, ctlFed, ctlJson } from './ctl.ts';
import { createTenant, describeOnStack, imei, type Tenant } from './harness.ts';

const mebibyte = 2 ** 20;
/** Prints the most memory that the process had, in bytes, as the last line. */
const tellMemory =
  "data:text/javascript,process.on('exit',()=>process.stderr.write(process.resourceUsage().maxRSS*1024+'\\n'))";

// The operators' pod has a read-only root and no tar.
describeOnStack('files of operators by standard input and output', () => {
  let tenant: Tenant;
  let folder: string;
  const device = imei();
  beforeAll(async () => {
    tenant = await createTenant();
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-files-'));
    expect((await ctl('devices', 'put', device)).exitCode).toBe(0);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await tenant.close();
  });
  const text = (content: string) => Readable.from([Buffer.from(content)]);

  it('a key is generated into standard output, and the headset can connect with it', async () => {
    const { exitCode, out, err } = await ctl('headset-keys', 'generate', device, '--out', '-');
    expect(exitCode).toBe(0);
    const file = join(folder, 'key.json');
    writeFileSync(file, out);
    const [identity] = readIdentities(file);
    expect(err).toContain(identity?.keyId);
    const headset = tenant.headset(identity as never);
    headset.connect();
    await waitFor('the key to be used', async () => {
      const { keys } = await ctlJson('headset-keys', 'list', device);
      return keys.some((key: { lastUsedAtMs: string }) => key.lastUsedAtMs !== '0');
    });
  });

  it('a public key and a list of IMEIs can be read from standard input', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
    expect(await ctlFed(text(pem), {}, 'headset-keys', 'add', device, '-')).toMatchObject({ exitCode: 0 });
    // Half a key is rejected.
    expect(await ctlFed(text(pem.slice(0, 90)), {}, 'headset-keys', 'add', device, '-')).toMatchObject({
      exitCode: 1,
      out: '',
    });
    const put = ['contracts', 'put', tenant.applicationId, '--limit', '9', '--add-file', '-'];
    const { out, exitCode } = await ctlFed(text(`${device}\n`), {}, ...put);
    expect([exitCode, out]).toEqual([0, expect.stringContaining(device)]);
    // A truncated IMEI is invalid, so no entry of the list is stored.
    const other = imei();
    expect(await ctlFed(text(`${other}\n${device.slice(0, 9)}`), {}, ...put)).toMatchObject({ exitCode: 1 });
    expect((await ctlJson('contracts', 'show', tenant.applicationId)).contract.deviceIds).not.toContain(
      other,
    );
  });

  it('a firmware of 300 MiB is not kept in memory, and a truncated one is not stored', async () => {
    const piece = randomBytes(mebibyte);
    const mebibytes = 300;
    const hash = createHash('sha256');
    for (let n = 0; n < mebibytes; n += 1) hash.update(piece);
    const sha256 = hash.digest('hex');
    const name = `com.vendor.f${randomBytes(6).toString('hex')}`;
    const put = (version: string, pieces: number) =>
      ctlFed(
        Readable.from(
          (function* () {
            for (let n = 0; n < pieces; n += 1) yield piece;
          })(),
        ),
        { NODE_OPTIONS: `--import=${tellMemory}` },
        ...['--json', 'firmware', 'put', name, version, '-'],
        ...['--size', String(mebibytes * mebibyte), '--sha256', sha256],
      );
    const version = `1.${randomBytes(4).readUInt32BE()}`;
    const cut = await put(version, 3);
    expect([cut.exitCode, cut.out]).toEqual([1, '']);
    expect(cut.err).toMatch(/^The firmware ended after \d+ of \d+ bytes\. Nothing was stored\.\n\d+\n$/);
    const whole = await put(version, mebibytes);
    expect([whole.exitCode, whole.err]).toEqual([0, expect.stringMatching(/^\d+\n$/)]);
    expect(JSON.parse(whole.out).artifact).toMatchObject({
      ...{ state: 'ARTIFACT_STATE_DELIVERABLE', sha256, sizeBytes: String(mebibytes * mebibyte) },
    });
    // 110 MiB of it are node and ctl, half of them mapped files. Measured in a control group of 128 MiB: 96 MiB.
    expect(Number(whole.err)).toBeLessThan(256 * mebibyte);
    expect((await ctl('firmware', 'withdraw', name, version)).exitCode).toBe(0);
  });
});

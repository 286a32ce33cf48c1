import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeImage } from '../../../charts/image/archive.ts';
import { baseFacts } from '../../../charts/image/base.ts';
import { billOfMaterials } from '../../../charts/image/sbom.ts';
import { normalised, type TarEntry, writeTar } from '../../../charts/image/tar.ts';

const nothing = Buffer.alloc(0);
const file = (path: string, text: string): TarEntry => ({
  ...{ path, type: 'file', mode: 0o644, data: Buffer.from(text), target: '' },
});
const link = (path: string, target: string): TarEntry => ({
  ...{ path, type: 'symlink', mode: 0o777, data: nothing, target },
});
const record = (name: string) =>
  file(`var/lib/dpkg/status.d/${name}`, `Package: ${name}\nVersion: 1\nArchitecture: amd64\n`);

const format =
  'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nLicense: MPL-2.0\n';
const machineReadable = `${format}
Files: *
Copyright: 2026, A
License: GPL-2+
 The text of the licence.
 License: not this line, which is text

Files: b
License: BSD-3-clause or Expat

License: GPL-2+
 Once more.
`;

describe("the bill of materials names the licences of Debian's packages", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-licences-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The licences by package, in the bill of an image with these files in its base. */
  async function licencesIn(entries: readonly TarEntry[]): Promise<Record<string, string[]>> {
    const archive = join(folder, 'base.tar');
    const image = {
      ...{ reference: 'localhost/base:latest', architecture: 'amd64', created: '1970-01-01T00:00:00.000Z' },
      ...{ config: {}, layers: [writeTar(normalised([...entries]))] },
    };
    await writeImage(image, archive, join(folder, 'layers'));
    const nodeFile = join(folder, 'node');
    writeFileSync(nodeFile, '');
    const bill = billOfMaterials({
      ...{ name: 'test', app: folder, nodeFile, basePackages: baseFacts(archive).packages },
      version: { version: '1.0.0', revision: '', date: '1970-01-01T00:00:00.000Z' },
    });
    const { components } = JSON.parse(bill.toString()) as {
      components: { name: string; purl: string; licenses?: { license: { name: string } }[] }[];
    };
    return Object.fromEntries(
      components
        .filter(({ purl }) => purl.startsWith('pkg:deb/'))
        .map(({ name, licenses = [] }) => [name, licenses.map(({ license }) => license.name)]),
    );
  }

  it('by the short names of copyright files, also of a package with a linked folder; else NOASSERTION', async () => {
    const packages = ['readable', 'linked', 'prose', 'without', 'empty'].map(record);
    const entries = [
      ...packages,
      file('usr/share/doc/readable/copyright', machineReadable),
      link('usr/share/doc/linked', 'readable'),
      file('usr/share/doc/prose/copyright', 'This is free software.\n\nLicense: GPL-2\n'),
      file('usr/share/doc/empty/copyright', 'Format: https://www.debian.org/x/\n\nFiles: *\n'),
    ];
    const names = ['BSD-3-clause or Expat', 'GPL-2+', 'MPL-2.0'];
    const found = await licencesIn(entries);
    expect(found).toEqual({
      ...{ readable: names, linked: names },
      ...{ prose: ['NOASSERTION'], without: ['NOASSERTION'], empty: ['NOASSERTION'] },
    });
    expect(await licencesIn(entries.toReversed())).toEqual(found);
  });

  it('a link to itself causes no endless loop', async () => {
    const round = [record('round'), link('usr/share/doc/round', 'round')];
    expect(await licencesIn(round)).toEqual({ round: ['NOASSERTION'] });
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contents, type Image, normalisedImage } from '../../../charts/image/archive.ts';
import { findBuilder } from '../../../charts/image/builder.ts';
import { readSettings, root } from '../../../charts/image/make.ts';
import { normalised, type TarEntry, writeTar } from '../../../charts/image/tar.ts';

describe('settings of make image', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-settings-'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '1.2.3' }));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    [{}, 'headset-cloud:1.2.3', 'platform'],
    [{ TAG: '2.0' }, 'headset-cloud:2.0', 'platform'],
    [{ TAG: '2.0', SITE: '1' }, 'headset-cloud-site:2.0', 'site'],
    [{ TAG: '2.0', TEST: '1' }, 'headset-cloud-test:2.0', 'test'],
    [{ TAG: '2.0', DEV: '1' }, 'headset-cloud-dev:2.0', 'dev'],
    [{ TAG: 'example.com:5000/a/b:2.0' }, 'example.com:5000/a/b:2.0', 'platform'],
    [{ REVISION: '0123456789abcdef' }, 'headset-cloud:0123456789ab', 'platform'],
    [{ REVISION: '0123456789abcdef-dirty' }, 'headset-cloud:0123456789ab-dirty', 'platform'],
  ])('%j is %s', (env, reference, kind) => {
    expect(readSettings({ SOURCE: folder, ...env })).toMatchObject({ reference, kind });
  });

  it('OUT is the path of the archive; default: in the cache, under the image’s name', () => {
    expect(readSettings({ SOURCE: folder, OUT: join(folder, 'a.tar') }).out).toBe(join(folder, 'a.tar'));
    expect(readSettings({ SOURCE: folder }).out).toBe(join(root, '.cache/image/headset-cloud-1.2.3.tar'));
  });

  it('SOURCE_DATE_EPOCH sets the time, not a repository around the sources', () => {
    const { version } = readSettings({ SOURCE: folder, SOURCE_DATE_EPOCH: '86400' });
    expect(version).toEqual({ version: '1.2.3', revision: '', date: '1970-01-02T00:00:00.000Z' });
    const inside = join(root, '.cache', 'image-settings-test');
    mkdirSync(inside, { recursive: true });
    try {
      writeFileSync(join(inside, 'package.json'), JSON.stringify({ version: '1.0.0' }));
      expect(readSettings({ SOURCE: inside }).version.revision).toBe('');
    } finally {
      rmSync(inside, { recursive: true });
    }
  });

  it.each([
    [{ SITE: '1', TEST: '1' }, 'SITE=1 and TEST=1 are different images'],
    [{ TEST: '1', DEV: '1' }, 'TEST=1 and DEV=1 are different images'],
    [{ TAG: 'Not a tag' }, 'TAG: "Not a tag" is neither a tag nor name:tag'],
    [{ SOURCE_DATE_EPOCH: 'yesterday' }, 'SOURCE_DATE_EPOCH: "yesterday" is no number of seconds'],
  ])('%j is refused', (env, message) => {
    expect(() => readSettings({ SOURCE: folder, ...env })).toThrow(message);
  });

  it('without docker and buildah the error names the programs to install', () => {
    const path = process.env['PATH'];
    process.env['PATH'] = folder;
    try {
      expect(() => findBuilder()).toThrow('Neither docker nor buildah is on PATH: install one of them');
    } finally {
      process.env['PATH'] = path;
    }
  });
});

describe('a normalised image', () => {
  const folder = (path: string): TarEntry => ({
    ...{ path, type: 'directory', mode: 0o755, data: Buffer.alloc(0), target: '' },
  });
  const file = (path: string): TarEntry => ({
    ...{ path, type: 'file', mode: 0o644, data: Buffer.from(path), target: '' },
  });
  const base = writeTar([folder('usr'), file('usr/b'), file('usr/a')]);
  const image = (layers: TarEntry[][], labels: Record<string, string> = {}): Image => ({
    reference: 'a:b',
    architecture: 'amd64',
    created: 'now',
    config: { User: '1', Labels: { own: 'x', ...labels } },
    layers: [base, ...layers.map(writeTar)],
  });
  const then = '2026-01-01T00:00:00.000Z';

  it('does not depend on repeated folders, empty layers or labels of a builder', () => {
    const plain = image([[folder('app'), file('app/x'), file('usr/c')], [file('app/y')]]);
    const noted = image(
      [
        [file('usr/c'), folder('usr'), folder('app'), file('app/x')],
        [folder('app'), file('app/y')],
        [folder('app')],
      ],
      { 'io.buildah.version': '1' },
    );
    expect(normalisedImage(noted, 1, then)).toEqual(normalisedImage(plain, 1, then));
    expect([...contents(normalisedImage(noted, 1, then)).keys()].sort()).toEqual(
      normalised([
        folder('app'),
        folder('usr'),
        ...['app/x', 'app/y', 'usr/a', 'usr/b', 'usr/c'].map(file),
      ]).map((e) => e.path),
    );
  });

  it('keeps the layers of the base unchanged', () => {
    expect(normalisedImage(image([]), 1, then).layers).toEqual([base]);
  });
});

import { deflateRawSync } from 'node:zlib';
import { givenCluster, whyNoCluster } from './cluster.ts';
import { figuresOf, passing, quantile } from './figures.ts';
import type { Attempt } from './integrators.ts';
import { filesInZip } from './zip.ts';

const at = (key: string, fromMs: number, toMs: number, status: number): Attempt => ({
  ...{ key, fromMs, toMs, status },
});

describe('figures of a run under load', () => {
  const attempts = [
    at('a', 1000, 1010, 201),
    at('b', 1500, 1510, 503),
    at('b', 1600, 2600, 0),
    at('b', 2700, 4200, 201),
    at('c', 9000, 9010, 201),
  ];
  const phase = { name: 'a phase', fromMs: 900, toMs: 5000 };

  it('include the longest time without a 201, also at the ends of the phase', () => {
    expect(figuresOf(phase, attempts, []).longestGapMs).toBe(3190);
    expect(figuresOf({ ...phase, toMs: 8000 }, attempts, []).longestGapMs).toBe(3800);
  });

  it('include calls, rejections, attempts without an answer, and the time until a call succeeded', () => {
    const { calls, refused, unanswered, longestDelayMs } = figuresOf(phase, attempts, []);
    expect({ calls, refused, unanswered, longestDelayMs }).toEqual({
      ...{ calls: 2, refused: 1, unanswered: 1, longestDelayMs: 2690 },
    });
  });

  it('include a call that never succeeded', () => {
    const never = [at('d', 1000, 1010, 503), at('d', 2000, 2010, 503)];
    expect(passing(never)).toEqual([
      { key: 'd', fromMs: 1010, toMs: Number.POSITIVE_INFINITY, statuses: [503, 503] },
    ]);
    expect(passing(attempts).map(({ key }) => key)).toEqual(['b']);
  });

  it('count absences of headsets that began in the phase', () => {
    const absences = [
      { deviceId: '1', fromMs: 800, toMs: 1900 },
      { deviceId: '2', fromMs: 1000, toMs: 1900 },
      { deviceId: '3', fromMs: 1000, toMs: 1200 },
    ];
    expect(figuresOf(phase, attempts, absences).absencesMs).toEqual([200, 900]);
    expect(quantile([1, 2, 3, 4], 0.99)).toBe(4);
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(3);
    expect(quantile([], 0.99)).toBe(0);
  });
});

describe('the cluster of the tests', () => {
  it('is used only if the environment names its context', () => {
    const { REQUIRE_REAL_STACK, TEST_KUBE_CONTEXT } = process.env;
    delete process.env['REQUIRE_REAL_STACK'];
    delete process.env['TEST_KUBE_CONTEXT'];
    try {
      expect(whyNoCluster()).toContain('TEST_KUBE_CONTEXT');
      process.env['REQUIRE_REAL_STACK'] = '1';
      expect(whyNoCluster).toThrow('REQUIRE_REAL_STACK is set');
    } finally {
      for (const [name, value] of Object.entries({ REQUIRE_REAL_STACK, TEST_KUBE_CONTEXT })) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(() => givenCluster({})).toThrow('TEST_KUBE_CONTEXT is not set.');
  });
});

describe("a Go module's archive", () => {
  /** A zip archive of two files, one of them compressed. */
  function archive(): Buffer {
    const files = [
      { name: 'm@v1/a.yaml', data: Buffer.from('a: 1\n'), method: 0 },
      { name: 'm@v1/crds/b.yaml', data: deflateRawSync('b: 2\n'), method: 8 },
    ];
    const locals: Buffer[] = [];
    const entries: Buffer[] = [];
    let offset = 0;
    for (const { name, data, method } of files) {
      const local = Buffer.alloc(30);
      local.writeUInt32LE(0x04034b50);
      local.writeUInt16LE(name.length, 26);
      locals.push(local, Buffer.from(name), data);
      const entry = Buffer.alloc(46);
      entry.writeUInt32LE(0x02014b50);
      entry.writeUInt16LE(method, 10);
      entry.writeUInt32LE(data.length, 20);
      entry.writeUInt16LE(name.length, 28);
      entry.writeUInt32LE(offset, 42);
      entries.push(entry, Buffer.from(name));
      offset += 30 + name.length + data.length;
    }
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50);
    end.writeUInt16LE(files.length, 10);
    end.writeUInt32LE(offset, 16);
    return Buffer.concat([...locals, ...entries, end]);
  }

  it('returns the files with matching names', () => {
    const found = [...filesInZip(archive(), /\.yaml$/)].map(([name, text]) => [name, text.toString()]);
    expect(found).toEqual([
      ['m@v1/a.yaml', 'a: 1\n'],
      ['m@v1/crds/b.yaml', 'b: 2\n'],
    ]);
    expect([...filesInZip(archive(), /\/crds\//).keys()]).toEqual(['m@v1/crds/b.yaml']);
    expect(() => filesInZip(Buffer.from('no archive'), /./)).toThrow('no zip archive');
  });
});

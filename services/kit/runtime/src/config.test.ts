import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, integer, readConfig, text } from './config.ts';

const spec = {
  LEASE_MS: integer({
    doc: 'A lease.',
    example: '15000',
    default: 15_000,
    min: 200,
    max: 60_000,
    productionMin: 5000,
  }),
};

describe('a lease in the configuration', () => {
  it('may be short in a test', () => {
    expect(readConfig(spec, { LEASE_MS: '2000' })).toEqual({ LEASE_MS: 2000 });
    expect(readConfig(spec, { LEASE_MS: '2000', NODE_ENV: 'test' })).toEqual({ LEASE_MS: 2000 });
  });

  it('is rejected in production below its minimum, with the reason', () => {
    const read = () => readConfig(spec, { LEASE_MS: '4999', NODE_ENV: 'production' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(
      'LEASE_MS: "4999" is below 5000, the least in production. A lease. Example: LEASE_MS=15000',
    );
  });

  it('may be the minimum in production; the default applies if it is not set', () => {
    expect(readConfig(spec, { LEASE_MS: '5000', NODE_ENV: 'production' })).toEqual({ LEASE_MS: 5000 });
    expect(readConfig(spec, { NODE_ENV: 'production' })).toEqual({ LEASE_MS: 15_000 });
  });
});

describe('in production', () => {
  const keys = {
    ISSUER: text({
      doc: 'The issuer.',
      example: 'https://id.example.com',
      productionForm: { pattern: /^https:/, reason: 'it must begin with https:' },
    }),
    TOKEN: text({ doc: 'A token.', example: 'a-long-random-text', secret: true, random: true }),
  };
  const random = 'q7Zr2mX0pLs8vWc4';
  const problem = (env: Record<string, string>) => {
    try {
      readConfig(keys, { NODE_ENV: 'production', ...env });
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  // protects against services/production
  it('a value for trials is rejected, with the reason and an example', () => {
    expect(problem({ ISSUER: 'http://id.example.com' })).toContain(
      'ISSUER: "http://id.example.com" is refused in production: it must begin with https:. The issuer. Example: ISSUER=https://id.example.com',
    );
    expect(problem({ ISSUER: 'https://id.example.com', TOKEN: random })).toBeUndefined();
    expect(readConfig(keys, { ISSUER: 'http://id.example.com' }).ISSUER).toBe('http://id.example.com');
  });

  // protects against stores/example-secrets
  it('a secret is neither the example nor a few characters repeated, and is not shown', () => {
    expect(problem({ TOKEN: 'a-long-random-text' })).toContain(
      'TOKEN: the value is the example of the documentation',
    );
    expect(problem({ TOKEN: 'abababababababab' })).toContain('TOKEN: the value repeats a few characters');
    expect(problem({ TOKEN: 'abababababababab' })).not.toContain('abab');
    expect(readConfig(keys, { TOKEN: 'abababababababab' }).TOKEN).toBe('abababababababab');
  });
});

describe('NODE_ENV', () => {
  it.each([undefined, 'production', 'development', 'test'])('may be %s', (word) => {
    expect(readConfig(spec, { NODE_ENV: word })).toEqual({ LEASE_MS: 15_000 });
  });

  // protects against services/production
  it.each(['prod', 'Production', 'production ', 'trial', ''])(
    'is rejected as "%s" with the three allowed values, together with all other errors',
    (word) => {
      const read = () => readConfig(spec, { NODE_ENV: word, LEASE_MS: '1' });
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(
        `NODE_ENV: "${word}" is not one of production, development, test. Production refuses`,
      );
      expect(read).toThrow('LEASE_MS: "1"');
    },
  );
});

describe('a secret', () => {
  const keys = {
    TOKEN: text({ doc: 'A token.', example: 'x', secret: true }),
    NAME: text({ doc: 'A name.', example: 'x' }),
  };
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('that is set both directly and as a file is rejected by name, and not shown', () => {
    const TOKEN_FILE = join(folder, 'token');
    writeFileSync(TOKEN_FILE, 'of-the-file\n');
    expect(readConfig(keys, { TOKEN_FILE }).TOKEN).toBe('of-the-file');
    writeFileSync(TOKEN_FILE, '\uFEFFof-the-file\r\n');
    expect(readConfig(keys, { TOKEN_FILE }).TOKEN).toBe('of-the-file');
    // UTF-16 bytes read as UTF-8 would give a different secret than the operator's.
    writeFileSync(TOKEN_FILE, '\uFEFFof-the-file\r\n', 'utf16le');
    expect(() => readConfig(keys, { TOKEN_FILE })).toThrow('TOKEN_FILE cannot be read (it is UTF-16.');
    writeFileSync(TOKEN_FILE, 'of-the-file\n');
    for (const TOKEN of ['of-the-variable', 'of-the-file', '']) {
      const read = () => readConfig(keys, { TOKEN, TOKEN_FILE });
      expect(read).toThrow(/^TOKEN and TOKEN_FILE are both set: unset one. A token.$/);
    }
    // Only secrets are read from files.
    expect(readConfig(keys, { NAME: 'a', NAME_FILE: TOKEN_FILE }).NAME).toBe('a');
  });
});

test('a value under the former name of a setting prevents the start, unless the new name is set too', () => {
  const keys = {
    NEW_MS: integer({ doc: 'A time.', example: '5', formerName: 'OLD_MS', default: 1, min: 0, max: 9 }),
  };
  expect(() => readConfig(keys, { OLD_MS: '5' })).toThrow(
    /^OLD_MS was renamed: set NEW_MS instead. A time.$/,
  );
  // Processes of both releases may share one environment during an upgrade.
  expect(readConfig(keys, { OLD_MS: '5', NEW_MS: '6' })).toEqual({ NEW_MS: 6 });
});

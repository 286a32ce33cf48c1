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

  it('is refused below its floor in production, with the reason', () => {
    const read = () => readConfig(spec, { LEASE_MS: '4999', NODE_ENV: 'production' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(
      'LEASE_MS: "4999" is below 5000, the least in production. A lease. Example: LEASE_MS=15000',
    );
  });

  it('may be its floor in production, and is its default where nothing is given', () => {
    expect(readConfig(spec, { LEASE_MS: '5000', NODE_ENV: 'production' })).toEqual({ LEASE_MS: 5000 });
    expect(readConfig(spec, { NODE_ENV: 'production' })).toEqual({ LEASE_MS: 15_000 });
  });
});

describe('a switch of tests in the configuration', () => {
  const switches = {
    ...spec,
    BREAK: text({ doc: 'Breaks it.', example: 'now', refusedInProduction: true }),
  };

  it('works in a test, and may be left out in production', () => {
    expect(readConfig(switches, { BREAK: 'now' }).BREAK).toBe('now');
    expect(readConfig(switches, { NODE_ENV: 'production' }).BREAK).toBeUndefined();
  });

  it('is refused in production, beside what else is wrong', () => {
    const read = () => readConfig(switches, { BREAK: 'now', LEASE_MS: '1', NODE_ENV: 'production' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow('BREAK is set, but NODE_ENV is production: unset it. Breaks it.');
    expect(read).toThrow('LEASE_MS');
  });
});

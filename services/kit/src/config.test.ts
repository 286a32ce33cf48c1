import { ConfigError, integer, readConfig } from './config.ts';

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

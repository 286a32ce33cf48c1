import { expect, it } from '@jest/globals';

it('throws an error that names the range when the range has no more ports', async () => {
  const given = process.env['TEST_PORTS'];
  process.env['TEST_PORTS'] = '14990-14992';
  const { freePorts } = await import('./ports.ts').finally(() => {
    if (given === undefined) delete process.env['TEST_PORTS'];
    else process.env['TEST_PORTS'] = given;
  });
  await expect(freePorts(4)).rejects.toThrow('No port of the range 14990-14992 is left.');
  await expect(freePorts(1)).rejects.toThrow('Set TEST_PORTS');
});

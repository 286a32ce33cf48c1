import { expect, it } from '@jest/globals';
import { portsOf } from './ports.ts';

it('throws an error that names the range when the range has no more ports', async () => {
  const freePorts = portsOf('14990-14992');
  await expect(freePorts(4)).rejects.toThrow('No port of the range 14990-14992 is left.');
  await expect(freePorts(1)).rejects.toThrow('Set TEST_PORTS');
});

import { tooOldMessage } from './client-version.ts';

const older = (what: string, version: string, minimum: string) =>
  `The device's ${what} version ${version} is older than ${minimum}, which this operation needs.`;

describe('the minimum versions of an operation', () => {
  it.each([
    ['2.3.0', '2.3.1', older('client', '2.3.0', '2.3.1')],
    ['2.3.1', '2.3.1', undefined],
    ['2.3.10', '2.3.9', undefined],
    ['3', '2.3.1', undefined],
    ['', '2.1.1', older('client', 'unknown', '2.1.1')],
    ['', '', undefined],
  ])('client %j against %s: %s', (client, minimum, message) => {
    expect(tooOldMessage({ client, firmware: '' }, { client: minimum, firmware: '' })).toBe(message);
  });

  it.each([
    ['9.000.9', older('firmware', '9.000.9', '9.001.0')],
    ['9.001.0', undefined],
    ['9.1', undefined],
    ['10', undefined],
    ['', older('firmware', 'unknown', '9.001.0')],
  ])('firmware %j against 9.001.0: %s', (firmware, message) => {
    const minimum = { client: '2.3.1', firmware: '9.001.0' };
    expect(tooOldMessage({ client: '2.3.1', firmware }, minimum)).toBe(message);
  });

  it('if both are too old, the message names the client', () => {
    expect(tooOldMessage({ client: '2', firmware: '8' }, { client: '2.3.1', firmware: '9.001.0' })).toBe(
      older('client', '2', '2.3.1'),
    );
  });
});

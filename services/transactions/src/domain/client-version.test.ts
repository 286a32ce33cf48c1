import { meetsMinimum, tooOldMessage } from './client-version.ts';

describe('the minimum client version of an operation', () => {
  it.each([
    ['2.3.0', '2.3.1', false],
    ['2.3.1', '2.3.1', true],
    ['2.3.10', '2.3.9', true],
    ['3', '2.3.1', true],
    ['', '2.1.1', false],
  ])('%j against %s: %s', (version, minimum, meets) => {
    expect(meetsMinimum(version, minimum)).toBe(meets);
  });

  it('is named in the message together with the client’s own', () => {
    expect(tooOldMessage('2.3.0', '2.3.1')).toBe(
      "The device's client version 2.3.0 is older than 2.3.1, which this operation needs.",
    );
    expect(tooOldMessage('', '2.3.1')).toBe(
      "The device's client version unknown is older than 2.3.1, which this operation needs.",
    );
  });
});

import { requireEndpointUrl } from './settings.ts';

const rules = { httpsOnly: false, mayReach: () => true };
const long = (length: number) => `https://a.test/${'x'.repeat(length - 15)}`;
const validate = (url: string) => () => requireEndpointUrl('deviceEvent', url, rules);

test('the 255 characters of a URL are code points, as in the contract', () => {
  expect(validate(long(255))).not.toThrow();
  expect(validate(`${long(254)}\u{1f600}`)).not.toThrow();
  const message = '/deviceEvent must be an http or https URL of at most 255 characters.';
  for (const url of [long(256), `${long(255)}\u{1f600}`]) {
    expect(validate(url)).toThrow(expect.objectContaining({ code: 'invalid_body', message: message }));
  }
});

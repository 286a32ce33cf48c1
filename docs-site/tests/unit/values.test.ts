import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadBundled } from './api-support.ts';

const { asShown, problemOf } =
  await loadBundled<typeof import('../../src/behaviour/values.ts')>('src/behaviour/values.ts');

describe('reader values', () => {
  for (const name of ['apiUrl', 'tokenUrl', 'integratorUrl']) {
    for (const good of ['https://api.example', 'http://127.0.0.1:8080', 'HTTPS://a.example/x/@y/'])
      test(`${name} ${good} is accepted`, () => assert.equal(problemOf(name, good), ''));
    for (const [wrong, reason] of [
      ['https://api.example/?x=1', /\? と #/],
      ['https://api.example?', /\? と #/],
      ['https://api.example/#top', /\? と #/],
      ['https://user:word@api.example', /ユーザー名/],
      ['https://user@api.example/x', /ユーザー名/],
      ['https://@api.example', /ユーザー名/],
      ['https://api.example:99999', /http/],
      ['https://', /http/],
      ['https:///api.example', /http/],
      ['https://例え.example', /半角/],
      ['https://api.example/a b', /半角/],
      ['ftp://api.example', /http/],
    ] as const)
      test(`${name} ${wrong} is rejected`, () => assert.match(problemOf(name, wrong), reason));
  }
  for (const [name, good, wrong] of [
    ['clientId', ['a', 'a/b+c=~', '0;9'], ['a:b', ':', 'é', 'a b']],
    ['clientSecret', ['a:b', 'a<b>&c%/+=~!'], ['秘密', 'naïve', 'a b', '\u{1f600}']],
    ['applicationId', ['app-1', '...', '.a', 'a..b', 'x'.repeat(128)], ['.', '..', 'a/b', 'x'.repeat(129)]],
    ['deviceId', ['356938035643809'], ['12345', '１２３４５６７８９０１２３４５']],
  ] as const) {
    for (const one of good) test(`${name} ${one} is accepted`, () => assert.equal(problemOf(name, one), ''));
    for (const one of wrong)
      test(`${name} ${one} is rejected`, () => assert.notEqual(problemOf(name, one), ''));
  }
  test('an empty value is accepted', () => {
    for (const name of ['apiUrl', 'clientId', 'clientSecret', 'applicationId', 'deviceId'])
      assert.equal(problemOf(name, ''), '');
  });
  test('slashes at the end are removed from the API’s address, not from other addresses', () => {
    assert.equal(asShown('apiUrl', 'https://api.example/'), 'https://api.example');
    assert.equal(asShown('apiUrl', 'https://api.example/base//'), 'https://api.example/base');
    assert.equal(asShown('tokenUrl', 'https://auth.example/token/'), 'https://auth.example/token/');
    assert.equal(asShown('integratorUrl', 'https://i.example/'), 'https://i.example/');
  });
});

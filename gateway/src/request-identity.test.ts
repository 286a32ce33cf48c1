import { normalizedPath, requestDigest } from './request-identity.ts';

const body = Buffer.from('{"a":1}');
const digest = (query: string, bytes: Uint8Array = body) =>
  Buffer.from(requestDigest(bytes, query, ['target', 'a', 'b'])).toString('hex');

describe('the request that an Idempotency-Key is tied to', () => {
  it.each([
    ['another value', 'target=all', 'target=connected'],
    ['a value and none', 'target=all', ''],
    ['one value and two', 'a=1', 'a=1&a=2'],
    ['two values in another order', 'a=1&a=2', 'a=2&a=1'],
  ])('%s are different queries', (_, one, other) => {
    expect(digest(one)).not.toBe(digest(other));
  });

  it.each([
    ['escapes', 'target=all', 'target=%61ll'],
    ['the order of names', 'a=1&b=2', 'b=2&a=1'],
    ['an unknown parameter', 'target=all', 'target=all&c=1'],
  ])('%s are the same query', (_, one, other) => {
    expect(digest(one)).toBe(digest(other));
  });

  it('a body and a query with the same text are different', () => {
    expect(digest('a=1', Buffer.from(''))).not.toBe(digest('', Buffer.from('a=1')));
    expect(digest('a=1')).not.toBe(digest('a=1', Buffer.from('{"a":2}')));
  });

  it('a path has one spelling', () => {
    expect(normalizedPath('/v1/devices/%33%35/apps/a%2Fb')).toBe('/v1/devices/35/apps/a%2Fb');
    expect(normalizedPath('/v1/%zz')).toBe('/v1/%zz');
  });
});

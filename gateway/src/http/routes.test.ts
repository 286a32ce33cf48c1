import { Routes } from './routes.ts';

const routes = new Routes<string>();
routes.add('GET', '/v1/things/status', 'status of all');
routes.add('GET', '/v1/things/{thingId}', 'one');
routes.add('PUT', '/v1/things/{thingId}', 'change');
routes.add('GET', '/v1/things/{thingId}/parts/{part}', 'part');
const find = (path: string, method = 'GET') => routes.find(method, path);

test('a method and a path find what serves them, with the values of the parameters', () => {
  expect(find('/v1/things/a/parts/b')).toEqual({ served: 'part', params: { thingId: 'a', part: 'b' } });
  expect(find('/v1/things/a', 'PUT')).toEqual({ served: 'change', params: { thingId: 'a' } });
});

test('the first added of those that fit is found', () => {
  expect(find('/v1/things/status')).toEqual({ served: 'status of all', params: {} });
  expect(find('/v1/things/status', 'PUT')?.served).toBe('change');
});

// withstands rest/path-tricks
test.each([
  '/v1/things/',
  '/v1/things//parts/b',
  '/v1/things/a/parts/',
  '/v1/things/a/',
  '//v1/things/a',
  'v1/things/a',
  '/V1/things/a',
  '/v1/%74hings/a',
  '/v1/things/a/parts',
  '/v1/things/a/parts/b/c',
  '/v1/things',
  '/',
  '',
])('%p is no path', (path) => {
  expect(find(path)).toBeUndefined();
});

// withstands rest/path-tricks
test('parameters are unescaped once, after the parts are told apart', () => {
  expect(find('/v1/things/a%2Fb')?.params).toEqual({ thingId: 'a/b' });
  expect(find('/v1/things/a%252Fb')?.params).toEqual({ thingId: 'a%2Fb' });
  expect(find('/v1/things/..')?.params).toEqual({ thingId: '..' });
  expect(find('/v1/things/%zz')?.params).toEqual({ thingId: '%zz' });
  expect(find('/v1/things/%73tatus')).toEqual({ served: 'one', params: { thingId: 'status' } });
});

test('a method is compared as it stands', () => {
  expect(find('/v1/things/a', 'HEAD')).toBeUndefined();
  expect(find('/v1/things/a', 'get')).toBeUndefined();
});

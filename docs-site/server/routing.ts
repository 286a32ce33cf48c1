/** Result of routing: a redirect, a file, or nothing. */
export type Route =
  | { readonly to: 'redirect'; readonly location: string }
  | { readonly to: 'file'; readonly file: string }
  | { readonly to: 'nothing' };

/**
 * Routes a request target in origin form. `/x.html`, `/x/index.html`, `/x/index` and `/x/` redirect to `/x` and keep
 * the query. Several slashes at the beginning become one: a redirect to `//host/` would lead to another site.
 */
export function routeOf(target: string, has: (file: string) => boolean): Route {
  const [rawPath = '/', ...rest] = target.split('?');
  const query = rest.length > 0 ? `?${rest.join('?')}` : '';
  let path: string;
  try {
    path = decodeURIComponent(rawPath);
  } catch {
    return { to: 'nothing' };
  }
  if (!path.startsWith('/') || /[\\\0\r\n]/.test(path)) return { to: 'nothing' };
  const plain = `/${path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/(^|\/)index(?:\.html)?$/, '$1')
    .replace(/\.html$/, '')
    .replace(/\/+$/, '')}`;
  if (plain !== path)
    return {
      to: 'redirect',
      location: encodeURI(plain).replaceAll('?', '%3F').replaceAll('#', '%23') + query,
    };
  const candidates = path === '/' ? ['/index.html'] : [path, `${path}/index.html`, `${path}.html`];
  const file = candidates.find(has);
  // The not-found page has no address.
  return file && file !== '/404.html' && file !== '/404/index.html'
    ? { to: 'file', file }
    : { to: 'nothing' };
}

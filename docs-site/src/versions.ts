import type { DocVersion } from './types';

/** Versions of the documentation. Pages of an older version have a prefix (`/docs` → `/v0/docs`). */
export const versions: readonly DocVersion[] = [
  { name: 'current', label: 'v1', state: 'latest', prefix: '', routes: [], main: '/docs' },
];

export const versionKey = 'docs-preferred-version-default';

export const latestOf = (all: readonly DocVersion[]): DocVersion | undefined =>
  all.find((one) => one.state === 'latest');

/** Route of the same page in another version; the version's main page if the page does not exist there. */
export function sameRoute(route: string, from: DocVersion | undefined, to: DocVersion): string {
  if (to.state === 'latest' && from?.name === to.name) return route;
  const plain =
    from && from.prefix !== '' && route.startsWith(`${from.prefix}/`)
      ? route.slice(from.prefix.length)
      : route;
  return to.routes.includes(plain) ? `${to.prefix}${plain}` : to.main;
}

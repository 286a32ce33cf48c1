import type { Manifest } from './manifest.ts';

/** Headers of every response. */
export const fixedHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * Content-Security-Policy of one page. Inline scripts and styles are allowed by their hashes only. `style-src-attr`
 * allows all, because Gatsby writes style attributes on its focus wrapper and its announcer. Such attributes cannot
 * load or run anything.
 */
export function contentSecurityPolicy(manifest: Manifest, file: string): string {
  const inline = manifest.inline[file] ?? { scripts: [], styles: [] };
  const origin = manifest.announcementsOrigin ? ` ${manifest.announcementsOrigin}` : '';
  return [
    "default-src 'none'",
    ["script-src 'self'", ...inline.scripts].join(' '),
    ["style-src 'self'", ...inline.styles].join(' '),
    // For the parser of announcements. Workers from `blob:` or `data:` stay forbidden.
    "worker-src 'self'",
    "style-src-attr 'unsafe-inline'",
    `img-src 'self' data:${origin}`,
    `connect-src 'self'${origin}`,
    "font-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const hashed = /(?:-[0-9a-f]{20}\.(?:js|css)|^\/(?:fragments|static|search)\/.*[.-][0-9a-f]{8,}\.\w+)$/;

/** Files with a content hash in their name never change. Browsers revalidate all other files. */
export const cacheControl = (file: string): string =>
  hashed.test(file) ? 'public, max-age=31536000, immutable' : 'public, max-age=0, must-revalidate';

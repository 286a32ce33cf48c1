import { listener } from './threat.ts';

/** Attacks on the documentation site, and on the platform's dependencies. */
export const siteListeners = [
  listener(
    'site',
    'Documentation site',
    'the internet; authors of announcements or documents',
    `
    traversal: a path to a file outside the site | routes are resolved by the build's own list
    methods: anything but reading | only GET and HEAD
    scripts: injected scripts, frames and forms | a Content-Security-Policy without unsafe-inline for scripts, on every answer
    document-html: HTML and scripts in texts of the OpenAPI documents | rendered as text
    announcement-html: HTML and dangerous addresses in announcements | rendered as text; dangerous addresses are no links
    `,
  ),
  listener(
    'supply',
    'Supply chain and image',
    'an attacker who changes a package, or enters a container',
    `
    lock: a package without integrity, from another address, with a licence or script that was not reviewed | the lock files are checked by a test
    versions: a range or tag that resolves to another version later | exact versions everywhere
    image: a container that offers tools to an intruder | no shell, no other program, nothing that its user may write
    image-rights: a process that runs as root, or with an account of the cluster | a numeric user, no service-account token
    image-content: an image that is not what the commit says | the same digest wherever it is built; a bill of materials inside
    `,
  ),
];

import { listener } from './threat.ts';

/** Attacks through files and through Sora's webhooks. */
export const fileListeners = [
  listener(
    'files',
    'Uploads and downloads (updates)',
    'the internet, by signed URLs; an uploader may be malicious',
    `
    unsigned: a URL without a signature, or for a path on the server's disk | only signed URLs for the service's own keys
    url-changed: a signed URL with another path, method, type, length or time | the signature covers each of them
    url-expired: a signed URL whose time is over | the signature covers the time
    url-size: a file of another size or type than announced, or without a length | the length is signed, required and counted
    traversal: a file's key with .. or an absolute path | the service creates the keys; other keys never become a path
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; bytes after a rejected request are not read; only signed paths
    swap: changing the file after it was checked | the checked file is copied to a key that contains its hash
    stall: an upload that stalls or breaks | aborted; nothing of it is kept
    upload-flood: requesting many uploads, of one version or of many packages | 20 open uploads of a version and 200 of a developer, also for concurrent calls, then 429
    bomb: an archive that grows to gigabytes, zip64 records, 2^32 entries | sizes, ratio and entries are checked before anything is unpacked
    archive-tricks: overlapping entries, symbolic links, absolute names, two manifests, a broken directory | rejected with the reason; nothing is written to a path from the archive
    manifest-bomb: a binary manifest that is truncated, changed or nested endlessly | read within limits of time and memory
    check-escape: a package that compromises its checker | a process without environment, network, and permission to write or start programs
    check-exhaustion: packages whose check takes all memory or time | limits for each check; the service continues
    check-queue: one developer's bad files delay others | a few checks at a time, in rotation by developer
    text: control characters and long texts from a package in messages | printable and bounded
    `,
  ),
  listener(
    'sora',
    "Sora's webhooks (communication)",
    "Sora's servers; an attacker who knows the address",
    `
    secret: a webhook with a wrong secret, without a secret, or for an unknown endpoint | a secret for each endpoint; 401 and nothing stored
    secret-old: a secret that was replaced | the new secret is valid at once, the old one is not
    other-endpoint: one endpoint sends events for the channel of another | the channel must belong to the endpoint; otherwise the event is stored, not forwarded
    other-device: a connection that names another application's device | a device is named only if it belongs to the application
    form: other paths and methods, no JSON, no event, too large | rejected by form and size
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; bytes after a rejected request are not read; paths have one form
    path: an endpoint's name with encoded slashes, NUL, or of Object.prototype | names have one form; the path is not decoded
    content: a webhook with operators, __proto__, endless nesting, or broken texts and numbers | stored as text, read as data
    log-injection: line breaks and false fields in ids that are logged | a log line is one JSON object
    replay: a repeated webhook | recognised by its id or its content; one event
    credentials: a webhook's secret that is passed on to the integrator | events are forwarded without credentials
    crowd: thousands of connections without a request | a new connection replaces the one idle longest
    bodies: many large or endless bodies at once, with a valid secret | a memory budget for all of them, half of it for one endpoint, counted on arrival; 503
    `,
  ),
];

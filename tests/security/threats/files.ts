import { listener } from './threat.ts';

/** Attacks through files and through what Sora's servers send. */
export const fileListeners = [
  listener(
    'files',
    'Uploads and downloads (updates)',
    'the internet, by signed addresses; who uploads may mean harm',
    `
    unsigned: an address without a signature, or for a path of the server's disk | only signed addresses of the service's own keys
    url-changed: a signed URL with another path, method, type, length or time | each of them is in the signature
    url-expired: a signed URL whose time is over | the time is in the signature
    url-size: a file of another size or type than was agreed, or of no told length | the length is signed, demanded and counted
    traversal: a file's key with .. or an absolute path | keys are made by the service; others never become a path
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; what follows a refused request is not read; only signed paths
    swap: changing the file after it was checked | the checked file is copied to a key that contains its hash
    stall: an upload that stalls or is cut off | aborted; nothing of it is kept
    upload-flood: asking for ever more uploads, of a version or of ever other packages | 20 open uploads of a version and 200 of a developer, also for calls at once, then 429
    bomb: an archive that grows to gigabytes, zip64 records, 2^32 entries | sizes, ratio and entries are judged before anything is unpacked
    archive-tricks: overlapping entries, symbolic links, absolute names, two manifests, a broken directory | refused with the reason; nothing is written to a path from the archive
    manifest-bomb: a binary manifest that is cut, changed or nested without end | read within bounds of time and memory
    check-escape: a package that takes over its checker | a process without environment, network, right to write or to start programs
    check-exhaustion: packages whose check takes all memory or time | limits for each check; the service continues
    check-queue: one developer's bad files keep others waiting | a few checks at a time, in turns of the developers
    text: control characters and long texts from a package in messages | printable and bounded
    `,
  ),
  listener(
    'sora',
    "Sora's webhooks (communication)",
    "Sora's servers; an attacker who knows the address",
    `
    secret: a webhook with a wrong secret, none, or for an unknown endpoint | a secret for each endpoint; 401 and nothing stored
    secret-old: a secret that was replaced | the new one is valid at once, the old one no longer
    other-endpoint: one endpoint tells of another one's channel | the channel must be the endpoint's own; else it is recorded, not forwarded
    other-device: a connection that names another application's device | a device is named only if it is the application's own
    form: other paths and methods, no JSON, no event, too large | refused by form and size
    http: requests with two lengths, hidden requests, broken headers, dot segments, inner addresses | a strict parser; what follows a refused request is not read; paths of one form
    path: an endpoint's name with encoded slashes, NUL, or of Object.prototype | names have one form; the path is not decoded
    content: a webhook with operators, __proto__, endless nesting, or broken texts and numbers | kept as the text that it is, read as data
    log-injection: line breaks and false fields in ids that are logged | a log line is one JSON object
    replay: a webhook again | recognised by its id or its content; one event
    credentials: a webhook's secret that is passed on to the integrator | events are forwarded without credentials
    crowd: thousands of connections without a request | the one that waits longest gives way
    bodies: many large bodies at once, or such that never end, with a right secret | a room for all of them, half of it for one endpoint, taken as they come; 503
    `,
  ),
];

import { listener } from './threat.ts';

/** Attacks on and by what the platform sends out. */
export const callbackListeners = [
  listener(
    'callbacks',
    'Callbacks and signed-URL requests (outgoing)',
    "integrators choose the addresses; an attacker may send to integrators' servers or stand between",
    `
    ssrf-addresses: destinations inside: loopback, private, link-local and metadata addresses, all that IANA lists as special | only public addresses, judged by number
    ssrf-spellings: the same in decimal, hex, octal, short or IPv6-mapped form, or as a name | judged after parsing and resolving, before the connection
    ssrf-rebinding: a name that turns to an internal address later | each connection is judged again, and made to the judged address
    ssrf-mixed: a name with public and internal addresses | only the public ones are connected to
    ssrf-redirect: a public address that redirects inside | redirects are not followed
    ssrf-proxy: getting inside by way of the egress proxy | addresses are judged before the proxy is asked, and it gets the judged address
    ssrf-configured: a configuration that allows the machine's own addresses, where the listeners of services and operators are | refused in production, at the start
    ssrf-signed-urls: signed URLs (recordings) that lead inside | the same rules as for callbacks
    scheme: settings with another scheme, user data, line breaks or spaces | addresses are http or https, parsed, without control characters
    forged: an attacker sends a callback in the platform's name | two signatures over the very bytes, with the application's key
    replayed: a recorded callback is sent again, also under another id | the signature covers id, time and body; receivers ignore old times and known ids
    key-change: a signature by a key that was replaced | each attempt is signed with the current key
    certificate: a server that stands between | certificates are verified: issuer, name and time
    endless-answer: an answer without end, or cut off | 64 KiB are read; the status counts
    answer-secrets: a server that answers with the key or with the signatures that it got, so that lists of attempts show them | they are taken out of the 1 KiB of an answer that is kept
    slow-answer: a server that plays for time | a total time limit for each attempt
    signed-url-answer: an integrator's answer that is no signed URL, huge, or a redirect | bounded, parsed, and refused with a reason
    test-secrets: a receiver of a test callback answers with the signature it got, or the key, which an API client with fewer rights reads | both are masked in what is told of the answer
    test-endless: a receiver of a test callback that plays for time, or answers without end | 13 s for all requests of a test; 4 KiB are read
    test-flood: test callbacks as a weapon against another's server | registered destinations only, a documented body, five of an application at the same time and a second each at least
    notice-flood: a server that is made to fail and recover on purpose, or to refuse for good, so that notices flood another server or the feed | one notice for an hour without any success and one for its end; one a minute for all that was given up
    notice-loop: notices about notices without end | about the address for notices, and about notices that were given up, in the feed only
    large-backlog: large callbacks to a server that takes none | the memory for callbacks counts their bytes; the rest waits in the database
    dead-server: one customer's dead server holds up others' callbacks | scheduled by destination, with a cap and one probe at a time
    other-customer: callbacks with what belongs to another customer | the callback's application is the transaction's; what a former activation left is told to nobody else
    `,
  ),
];

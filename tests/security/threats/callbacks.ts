import { listener } from './threat.ts';

/** Attacks on outgoing requests, and through them. */
export const callbackListeners = [
  listener(
    'callbacks',
    'Callbacks and signed-URL requests (outgoing)',
    "integrators choose the URLs; an attacker may send to integrators' servers or intercept requests",
    `
    ssrf-addresses: endpoints inside the network: loopback, private, link-local and metadata addresses, all that IANA lists as special | only public addresses, checked numerically
    ssrf-spellings: the same in decimal, hex, octal, short or IPv6-mapped form, or as a name | checked after parsing and resolving, before the connection
    ssrf-rebinding: a name that later resolves to an internal address | each connection is checked again, and uses the checked address
    ssrf-mixed: a name with public and internal addresses | connections use only the public ones
    ssrf-redirect: a public address that redirects to an internal one | redirects are not followed
    ssrf-proxy: reaching internal addresses through the egress proxy | addresses are checked before the proxy is used, and the proxy gets the checked address
    ssrf-configured: a configuration that allows the machine's own addresses, where services and operators' listeners are | rejected at the start in production
    ssrf-signed-urls: signed URLs (recordings) that lead to internal addresses | the same rules as for callbacks
    scheme: settings with another scheme, user data, line breaks or spaces | addresses are http or https, parsed, without control characters
    forged: an attacker sends a callback in the platform's name | two signatures over the exact bytes, with the application's key
    replayed: a recorded callback is sent again, also under another id | the signature covers id, time and body; receivers reject old times and known ids
    key-change: a signature by a key that was replaced | each attempt is signed with the current key
    certificate: a server that intercepts requests | certificates are verified: issuer, name and time
    endless-answer: an endless or interrupted answer | 64 KiB are read; the status counts
    answer-secrets: a server that answers with the key or the signatures it received, so that lists of attempts show them | both are masked in the stored 1 KiB of an answer
    slow-answer: a server that answers very slowly | a total time limit for each attempt
    signed-url-answer: an integrator's answer that is no signed URL, huge, or a redirect | bounded, parsed, and rejected with a reason
    test-secrets: a receiver of a test callback answers with the signature or the key, so that an API client with fewer rights reads it | both are masked in the reported answer
    test-endless: a receiver of a test callback that answers very slowly or endlessly | 13 s for all requests of a test; 4 KiB are read
    test-flood: test callbacks against the server of somebody else | registered endpoints only, a documented body, at most five of an application at the same time, at least one second each
    notice-flood: a server that fails and recovers on purpose, or rejects permanently, so that notices flood another server or the feed | one notice after an hour without any success and one at its end; one a minute for all callbacks that were given up
    notice-loop: endless notices about notices | notices about the notices' endpoint, and about notices that were given up, are in the feed only
    large-backlog: large callbacks to a server that rejects them | the memory budget counts the bytes of callbacks; the rest waits in the database
    dead-server: one customer's dead server delays others' callbacks | scheduled by endpoint, with a limit and one probe at a time
    other-customer: callbacks with data of another customer | the callback's application is the transaction's; data of an earlier activation is sent to no other application
    `,
  ),
];

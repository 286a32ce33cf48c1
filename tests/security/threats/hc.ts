import { listener } from './threat.ts';

/** Attacks on the integrators' command: from the machine that it runs on, and through its input. */
export const hcListener = listener(
  'hc',
  "Integrators' command (hc)",
  "other users of an integrator's machine; an interceptor between the machine and the API; authors of texts that the API returns",
  `
  credentials-file: reading the client's secret as another user of the machine, also in a file created before | files of 0600, folders 0700, written atomically; a file that others may read is rejected
  secret-shown: the secret in the list of processes, the shell's history or on the screen | no option accepts it; it is read from standard input, or typed without echo
  plain-http: reading the secret or a token in transit | https, or http on the machine itself, unless explicitly allowed
  redirect: a server that redirects token or secret to another server | redirects are not followed
  terminal: escape codes, false lines and bidirectional marks in bodies, answers and errors | shown as escapes, in tables, single values, streams, errors and JSON
  `,
);

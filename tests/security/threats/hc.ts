import { listener } from './threat.ts';

/** Attacks on the integrators' command: from the machine that it runs on, and by what it reads. */
export const hcListener = listener(
  'hc',
  "Integrators' command (hc)",
  "other users of an integrator's machine; who stands between it and the API; whoever's texts the API gives on",
  `
  credentials-file: reading the client's secret as another user of the machine, also in a file that was made before | files of 0600, folders 0700, put in place whole; one that others may read is refused
  secret-shown: the secret in the list of processes, the shell's history or on the screen | no option takes it; it is read from standard input, or typed without being shown
  plain-http: reading the secret or a token on its way | https, or http on the machine itself, unless it is allowed by hand
  redirect: a server that sends token or secret on to another one | redirects are not followed
  terminal: escape codes, false lines and bidirectional marks in bodies, answers and refusals | shown as escapes, in tables, single values, streams, errors and JSON
  `,
);

import { appendFileSync, createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const notesFile = 'secrets-of-the-run.txt';
/** Minimum length: shorter values could be in a log by chance. */
const leastSecretLength = 16;

/** Stores a secret that the run has used, so that the check finds it in logs. */
export function noteSecret(dataDir: string, secret: string): void {
  if (secret.length >= leastSecretLength) appendFileSync(join(dataDir, notesFile), `${secret}\n`);
}

/** Stores the values of fields in a call's or an answer's body that are secrets by their names. */
export function noteSecretsIn(dataDir: string, body: unknown): void {
  if (body === null || typeof body !== 'object') return;
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string') noteSecretsIn(dataDir, value);
    else if (/secret|password|authenticationKey/i.test(name)) noteSecret(dataDir, value);
  }
}

/** Forms of secrets that no log line may contain. */
const forms: readonly (readonly [what: string, form: RegExp])[] = [
  ['a signed token', /eyJ[\w-]{16,}\.[\w-]{16,}\.[\w-]{16,}/],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY/],
  ['a password in an address', /\w+:\/\/[^\s/:@"]+:[^\s/@"]{3,}@/],
  // Fields that appear only in bodies of calls, callbacks and headsets' messages; in a log they are escaped.
  [
    'a body',
    /\\+"(mimiClientSecret|authenticationKey|clientSecret|launchType|customData|ssid|deviceEvent)\\+":/,
  ],
];

/**
 * Secrets in the logs of a run (docs/rules.md, rule C18): each line by its file, number and
 * kind of secret, never the secret itself.
 */
export async function secretsInLogs(dataDir: string): Promise<string[]> {
  const notes = join(dataDir, notesFile);
  const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/) : []);
  const secrets = new Set([...linesOf(notes), ...linesOf(join(dataDir, 'secret.key'))].filter(Boolean));
  const folder = join(dataDir, 'logs');
  const found: string[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    let number = 0;
    for await (const line of createInterface({ input: createReadStream(join(folder, name)) })) {
      number += 1;
      const words = line.match(/[\w+/=.-]{16,}/g) ?? [];
      if (words.some((word) => secrets.has(word))) found.push(`${name}:${number}: a secret of the run`);
      for (const [what, form] of forms) if (form.test(line)) found.push(`${name}:${number}: ${what}`);
    }
  }
  return found;
}

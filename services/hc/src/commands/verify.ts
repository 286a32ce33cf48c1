import { statSync } from 'node:fs';
import {
  CliError,
  exceptOutputClosed,
  exitCodes,
  refusedError,
  usageError,
} from '@headset-cloud/cli/exit-codes.ts';
import { type Field, fields, visible } from '@headset-cloud/cli/output.ts';
import { standard } from '@headset-cloud/cli/standard-streams.ts';
import { instant, instantForms } from '@headset-cloud/cli/time.ts';
import type { Command } from 'commander';
import { type Api, ApiError } from '../api.ts';
import type { Session } from '../session.ts';
import { applicationKey, keyOfFile, ownKey, type SigningKey } from '../signing-keys.ts';
import { checkSignatures, type SignatureReport } from '../verify/check-signatures.ts';
import { parseStored, type StoredCallback } from '../verify/stored-callback.ts';

interface VerifyOptions {
  readonly key?: string;
  readonly received?: number;
  readonly offline?: boolean;
}

/** `verify`. */
export function addVerify(program: Command, session: Session): void {
  program
    .command('verify <file>')
    .description(
      'check the signatures of a stored callback, and report what is wrong: time, key, or a changed body',
    )
    .option('--key <file>', 'verify with the key of this file; -: standard input')
    .option('--received <time>', `when it was received: ${instantForms}; default: the file's time`, instant)
    .option('--offline', 'do not read the key and the sent body from the API')
    .addHelpText(
      'after',
      `
The file contains the received request: headers, an empty line, the body; or JSON such as
  {"headers": {"webhook-id": "…", …}, "body": "the body as text", "receivedAt": "2026-01-31T12:00:00Z"}
(bodyBase64 instead of body for bytes). Known keys: the key of --key, the application's key, and hc's own key (listen --own-key).
Ends with exit code 1 if anything is wrong.

Example:
  $ hc verify callback.http
  $ hc verify - --key key.txt --offline < callback.json
`,
    )
    .action((file: string, options: VerifyOptions) => run(session, file, options));
}

async function run(session: Session, file: string, options: VerifyOptions): Promise<void> {
  const stored = await readStored(session, file);
  const api = options.offline ? undefined : apiIfLoggedIn(session);
  const keys: SigningKey[] = [];
  if (options.key !== undefined) keys.push(await keyOfFile(session.files, options.key));
  const own = ownKey(session.env);
  const issued = api && (await applicationKey(api));
  if (issued) keys.push(issued);
  if (own) keys.push(own);
  if (keys.length === 0) {
    throw usageError(
      'No key to verify with: run hc login (the application needs a key), or give --key FILE.',
    );
  }
  const receivedAtMs = options.received ?? stored.receivedAtMs ?? timeOf(file);
  const report = checkSignatures(stored, keys, receivedAtMs, api && (await sentBody(api, stored)));
  session.show({ ...report, receivedAt: new Date(receivedAtMs).toISOString() }, () =>
    reportText(report, receivedAtMs),
  );
  await session.terminal.flushed?.().catch(exceptOutputClosed);
  if (report.problems.length > 0) {
    throw refusedError(report.problems.map(visible).join('\n'));
  }
}

async function readStored({ files }: Session, file: string): Promise<StoredCallback> {
  const content = await files.bytes(file, 'The callback');
  try {
    return parseStored(content);
  } catch (cause) {
    throw usageError(
      `The callback cannot be read: ${visible((cause as Error).message)}. hc verify --help shows the forms.`,
      { cause },
    );
  }
}

/** The API; undefined if the user is not logged in. */
function apiIfLoggedIn(session: Session): Api | undefined {
  try {
    return session.api('cws:application:read');
  } catch (error) {
    if (error instanceof CliError && error.exitCode === exitCodes.unauthenticated) return undefined;
    throw error;
  }
}

/** The body that the cloud sent; undefined if the cloud has no such callback. */
async function sentBody(api: Api, { headers }: StoredCallback): Promise<string | undefined> {
  const id = headers['webhook-id'];
  if (!id) return undefined;
  try {
    return (await api.get<{ body: string }>(`/deliveries/${encodeURIComponent(id)}`)).body;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return undefined;
    throw error;
  }
}

/** The assumed time of receipt: the last write of the file, or now for standard input. */
function timeOf(file: string): number {
  return file === standard ? Date.now() : statSync(file).mtimeMs;
}

function reportText(
  { webhookId, signedAtMs, signatures, problems }: SignatureReport,
  receivedAtMs: number,
): string {
  return fields([
    ['webhook-id', webhookId ?? 'missing'],
    ['signed at', signedAtMs === undefined ? 'unknown' : new Date(signedAtMs).toISOString()],
    ['received at', new Date(receivedAtMs).toISOString()],
    ...signatures.map(({ header, finding }): Field => [header, finding]),
    ['verdict', problems.length === 0 ? 'valid' : 'NOT valid'],
  ]);
}

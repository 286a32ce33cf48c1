import { existsSync, rmSync } from 'node:fs';
import { usageError } from '@headset-cloud/cli/exit-codes.ts';
import { fields, visible } from '@headset-cloud/cli/output.ts';
import { readSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { standard } from '@headset-cloud/cli/standard-streams.ts';
import type { Command } from 'commander';
import { createApi, tokenEndpointOf } from '../api.ts';
import {
  apiAddress,
  credentialsFile,
  envValue,
  type StoredCredentials,
  safeAddress,
  secretFrom,
  storeCredentials,
} from '../credentials.ts';
import { ask, orAsked } from '../prompt.ts';
import type { Session } from '../session.ts';

interface LoginOptions {
  readonly apiUrl?: string;
  readonly tokenUrl?: string;
  readonly issuer?: string;
  readonly client?: string;
  readonly from?: string;
  readonly allowHttp?: boolean;
}

/** `login` and `logout`. */
export function addLogin(program: Command, session: Session): void {
  program
    .command('login')
    .description('store API credentials (file mode 0600); the secret is read from standard input or a prompt')
    .option('--api-url <url>', "the API's address")
    .option('--token-url <url>', 'the token endpoint')
    .option('--issuer <url>', 'URL of the issuer, to discover the token endpoint (OpenID Connect)')
    .option('--client <clientId>', "your client's id")
    .option('--from <file>', 'read all values from a file, such as .data/demo.json of make up')
    .option('--allow-http', 'allow plain http to another machine, where secret and tokens can be intercepted')
    .addHelpText(
      'after',
      `
The application is the one of --application. Nothing is stored before the API has accepted the credentials.

Examples:
  $ hc login --from .data/demo.json
  $ hc --application my-app login --api-url https://api.example.com --issuer https://id.example.com --client my-client
  $ hc --application my-app login --api-url … --token-url … --client my-client < secret.txt
`,
    )
    .action(async (options: LoginOptions) => {
      const credentials = await gather(session, options);
      const api = createApi(credentials, {
        scopes: ['cws:application:read'],
        timeoutMs: session.options.timeoutMs,
      });
      await api.get('');
      const file = storeCredentials(session.env, session.options.profile, credentials);
      const { clientSecret: _, ...shown } = credentials;
      session.show({ ...shown, file }, () =>
        fields([
          ['API', credentials.apiUrl],
          ['tokens', credentials.tokenUrl],
          ['application', credentials.applicationId],
          ['client', credentials.clientId],
          ['stored in', file],
        ]),
      );
    });

  program
    .command('logout')
    .description('remove the stored credentials')
    .action(() => {
      const file = credentialsFile(session.env, session.options.profile);
      const removed = existsSync(file) ? file : null;
      rmSync(file, { force: true });
      session.show({ removed }, () =>
        removed === null ? `No login is stored in ${visible(file)}.\n` : `${visible(file)} was removed.\n`,
      );
    });
}

async function gather(session: Session, options: LoginOptions): Promise<StoredCredentials> {
  const { env } = session;
  const file = options.from === undefined ? {} : readGiven(options.from);
  const allowHttp = options.allowHttp === true || env['HC_ALLOW_HTTP'] === '1';
  const prompt = { keyboard: session.keyboard, out: session.terminal.err };
  const apiUrl = apiAddress(
    await orAsked(options.apiUrl ?? envValue(env, 'HC_API_URL') ?? file.apiUrl, prompt, {
      question: "The API's address",
      option: '--api-url',
    }),
    allowHttp,
  );
  const issuer = options.issuer ?? envValue(env, 'HC_ISSUER');
  const tokenUrl =
    options.tokenUrl ??
    (issuer === undefined
      ? (envValue(env, 'HC_TOKEN_URL') ?? file.tokenUrl)
      : await tokenEndpointOf(
          safeAddress("The issuer's address", issuer, allowHttp),
          session.options.timeoutMs,
        ));
  const known = {
    apiUrl,
    tokenUrl: safeAddress(
      'The token endpoint',
      await orAsked(tokenUrl, prompt, {
        question: 'The token endpoint',
        option: '--token-url or --issuer',
      }),
      allowHttp,
    ),
    applicationId: await orAsked(
      session.options.application ?? envValue(env, 'HC_APPLICATION') ?? file.applicationId,
      prompt,
      { question: 'The application', option: '--application' },
    ),
    clientId: await orAsked(options.client ?? envValue(env, 'HC_CLIENT_ID') ?? file.clientId, prompt, {
      question: 'The client id',
      option: '--client',
    }),
  };
  const clientSecret = file.clientSecret ?? secretFrom(env) ?? (await secretTyped(session));
  return { ...known, clientSecret, ...(allowHttp && { allowHttp }) };
}

async function secretTyped({ keyboard, terminal, files }: Session): Promise<string> {
  const secret = keyboard
    ? await ask(keyboard, terminal.err, "The client's secret (it is not shown): ", true)
    : await files.text(standard, "The client's secret");
  if (secret.trim() !== '') return secret.trim();
  throw usageError('The secret is empty. Nothing was stored.');
}

/** Reads credentials from a file in the form of make up's demo.json. */
function readGiven(path: string): Partial<StoredCredentials> {
  const text = readSecretFile(path, 'The file of --from');
  if (text === undefined) throw usageError(`There is no file ${path}.`);
  const given: Record<string, string> = {};
  try {
    const all = JSON.parse(text) as Readonly<Record<string, unknown>>;
    for (const name of ['apiUrl', 'tokenUrl', 'applicationId', 'clientId', 'clientSecret']) {
      const value = all[name];
      if (typeof value === 'string') given[name] = value;
    }
  } catch {
    // The parser's message would contain a part of the file.
    throw usageError(`The file ${path} is not JSON.`);
  }
  return given;
}

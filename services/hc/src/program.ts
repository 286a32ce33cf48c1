import { addCompletion } from '@headset-cloud/cli/completion.ts';
import { exitCodes as codes } from '@headset-cloud/cli/exit-codes.ts';
import { createProgram, runProgram } from '@headset-cloud/cli/run.ts';
import { type Command, InvalidArgumentError } from 'commander';
import { addDeliveries } from './commands/deliveries.ts';
import { addDevices } from './commands/devices.ts';
import { addEvents } from './commands/events.ts';
import { addListen } from './commands/listen.ts';
import { addLogin } from './commands/login.ts';
import { addSoftware } from './commands/software.ts';
import { addTransactions } from './commands/transactions.ts';
import { addTrigger } from './commands/trigger.ts';
import { addVerify } from './commands/verify.ts';
import { createSession, type Surroundings } from './session.ts';

const examples = `
Examples:
  Log in once (the secret is read from a prompt or standard input):
    $ hc login --api-url https://api.example.com --issuer https://id.example.com --application my-app --client my-client
    $ hc login --from .data/demo.json

  Forward all callbacks, with valid signatures, to a local server, from where the last run stopped:
    $ hc listen --forward-to http://localhost:3000/callbacks

  Send a test callback to a registered URL, and check that a wrong signature is rejected:
    $ hc trigger notify-boot --verify

  Show events, and follow them:
    $ hc events --since 1h --types notify-boot,notify-location
    $ hc events --follow --json | jq '.body | fromjson'

  Find callbacks that did not arrive, and send them again:
    $ hc deliveries list --state dead
    $ hc deliveries show tx-42-processed
    $ hc deliveries redeliver tx-42-processed
    $ hc deliveries recover --since 2h --dry-run
    $ hc deliveries recover --since 2h

  Devices and transactions:
    $ hc devices --network offline
    $ hc transactions list --device 356938035643809 --status uncompleted
    $ hc transactions watch 42

  Find out why a signature is rejected (a stored request with its headers; - is standard input):
    $ hc verify callback.http

  Completion in the shell:
    $ source <(hc completion bash)

Without a login:
  HC_API_URL, HC_TOKEN_URL, HC_APPLICATION, HC_CLIENT_ID and HC_CLIENT_SECRET (or HC_CLIENT_SECRET_FILE) each override a
  value of hc login. HC_ACCESS_TOKEN replaces client and secret. HC_ALLOW_HTTP=1 allows plain http.
  hc login reads these variables, too, and HC_ISSUER in place of --issuer. Empty variables count as absent.

Files:
  XDG_CONFIG_HOME (~/.config) contains headset-cloud/default.json of hc login (mode 0600), XDG_STATE_HOME (~/.local/state)
  the positions at which hc listen stopped.

Exit codes:
  ${codes.ok} done, ${codes.refused} rejected or failed, ${codes.usage} wrong command line, ${codes.unreachable} cannot reach the API or the token endpoint,
  ${codes.unauthenticated} not logged in, or client, secret or token rejected; 130 Ctrl-C before the end
`;

function profileName(text: string): string {
  if (!/^[A-Za-z0-9][\w-]{0,31}$/.test(text)) {
    throw new InvalidArgumentError('It is not a name of up to 32 letters, digits, - and _.');
  }
  return text;
}

/** hc's commands and options. Does not run anything. */
export function buildProgram(surroundings: Surroundings): Command {
  const program = createProgram('hc', {
    description: "The integrators' command line of Headset Cloud.",
    timeoutMs: 30_000,
    more: examples,
  })
    .option('--profile <name>', 'login to use or to store', profileName, 'default')
    .option('--application <applicationId>', "another application of the client's developer");
  const session = createSession(program, surroundings);
  addLogin(program, session);
  addListen(program, session);
  addTrigger(program, session);
  addEvents(program, session);
  addDeliveries(program, session);
  addDevices(program, session);
  addTransactions(program, session);
  addSoftware(program, session);
  addVerify(program, session);
  addCompletion(program, session);
  return program;
}

/** Runs one command line (without node and script); returns the exit code. */
export function runHc(args: readonly string[], surroundings: Surroundings): Promise<number> {
  return runProgram(buildProgram, args, surroundings);
}

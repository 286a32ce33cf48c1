import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { ProcessStatus } from '@headset-cloud/kit/admin-server.ts';
import { operatorHeaders } from '@headset-cloud/kit/audit/operator.ts';
import { CliError } from '@headset-cloud/kit/cli/exit-codes.ts';
import { networkReason, neverReached } from '@headset-cloud/kit/cli/network.ts';
import { visible } from '@headset-cloud/kit/cli/output.ts';
import type { Files } from '@headset-cloud/kit/cli/standard-streams.ts';
import { withinTime } from '@headset-cloud/kit/outbound/time-limit.ts';
import { repeatable } from '@headset-cloud/proto/common/v1/repeatable_pb.ts';
import { exitCodes } from './exit-codes.ts';

/** The services that have an operators' listener. */
export type AdminService =
  | 'devices'
  | 'transactions'
  | 'notifier'
  | 'updates'
  | 'connectivity'
  | 'communication'
  | 'billing';

/** The processes that `ctl status` asks: those services, and the ones without calls for operators. */
export type AdminProcess = AdminService | 'device-link' | 'gateway';

/** The admin addresses given on the command line. */
export interface ConnectionOptions {
  readonly admin?: string;
  readonly devicesAdmin?: string;
  readonly transactionsAdmin?: string;
  readonly notifierAdmin?: string;
  readonly updatesAdmin?: string;
  readonly connectivityAdmin?: string;
  readonly communicationAdmin?: string;
  readonly billingAdmin?: string;
  readonly deviceLinkAdmin?: string;
  readonly gatewayAdmin?: string;
  readonly tokenFile?: string;
  readonly operator?: string;
  readonly timeoutMs: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The whole platform in one process, as `make up` starts it. */
const onePort = 'http://127.0.0.1:9100';
/** One process per service, by the usual ports. */
const ownPorts: Record<AdminProcess, string> = {
  gateway: 'http://127.0.0.1:9100',
  devices: 'http://127.0.0.1:9101',
  transactions: 'http://127.0.0.1:9102',
  'device-link': 'http://127.0.0.1:9103',
  notifier: 'http://127.0.0.1:9104',
  updates: 'http://127.0.0.1:9105',
  connectivity: 'http://127.0.0.1:9106',
  communication: 'http://127.0.0.1:9107',
  billing: 'http://127.0.0.1:9108',
};

/** Where `make up` writes the addresses of the platform that it runs; CTL_ADDRESSES_FILE names another. */
const addressesFile = resolve(import.meta.dirname, '../../../.data/addresses.json');

/** The listeners that `make up` has written, by process; none where nothing runs. */
function writtenAddresses(env: Env): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(env['CTL_ADDRESSES_FILE'] || addressesFile, 'utf8')) as Record<
      string,
      string
    >;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    const reason = (cause as Error).message;
    throw new CliError(exitCodes.usage, `The file of the listeners cannot be read: ${reason}`, { cause });
  }
}

/** The address that a setting names; the most specific one wins, flags before the environment. */
function givenAddress(service: AdminProcess, options: ConnectionOptions, env: Env): string | undefined {
  const variable = `${service.toUpperCase().replace('-', '_')}_ADMIN`;
  const flag = `${service === 'device-link' ? 'deviceLink' : service}Admin` as const;
  return options[flag] ?? options.admin ?? (env[variable] || undefined) ?? (env['ADMIN_URL'] || undefined);
}

/**
 * Addresses to try for a process: those that a setting names, divided by commas. Without a setting: the listener that
 * `make up` has written, then the usual addresses on this machine.
 */
export function adminAddresses(service: AdminProcess, options: ConnectionOptions, env: Env): string[] {
  const given = givenAddress(service, options, env);
  if (given === undefined) {
    const written = writtenAddresses(env);
    const listener = written[service] ?? written['platform'];
    return listener ? [listener] : [...new Set([onePort, ownPorts[service]])];
  }
  const addresses = given.split(',').map((address) => address.trim());
  const wrong = addresses.find((one) => !/^https?:\/\/[^/]/i.test(one) || !URL.canParse(one));
  if (wrong !== undefined) {
    throw new CliError(
      exitCodes.usage,
      `The admin address ${JSON.stringify(wrong)} is not an http or https address. Example: ${onePort}`,
    );
  }
  return addresses;
}

/** Looks a name up. */
type AddressesOf = (name: string) => Promise<{ readonly address: string; readonly family: number }[]>;

/** One process of a service. */
export interface Instance {
  /** The service's name, and from the second process on its number: notifier, notifier-2. */
  readonly name: string;
  /** Addresses to try for it. */
  readonly addresses: readonly string[];
}

/**
 * All processes of a service: several where `make up` has written several listeners for it, or where the name in the last
 * address that a setting names has several addresses, as a headless Service of Kubernetes has.
 */
export async function instancesOf(
  service: AdminProcess,
  options: ConnectionOptions,
  env: Env,
  addressesOf: AddressesOf = (name) => lookup(name, { all: true }),
): Promise<Instance[]> {
  const first = { name: service, addresses: adminAddresses(service, options, env) };
  if (givenAddress(service, options, env) !== undefined) {
    const found = await resolved(first.addresses.at(-1) as string, addressesOf);
    if (found.length < 2) return [first];
    return found.map((address, i) => ({
      name: i === 0 ? service : `${service}-${i + 1}`,
      addresses: [address],
    }));
  }
  const numbered = new RegExp(`^${service}-(\\d+)$`);
  const numberOf = (name: string) => Number(numbered.exec(name)?.[1]);
  const further = Object.entries(writtenAddresses(env)).filter(([name]) => numbered.test(name));
  further.sort(([a], [b]) => numberOf(a) - numberOf(b));
  return [first, ...further.map(([name, address]) => ({ name, addresses: [address] }))];
}

/** The addresses of a name, as URLs; none where its name must stay for TLS, or is not known. */
async function resolved(url: string, addressesOf: AddressesOf): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'http:') return [];
  const all = await addressesOf(hostname).catch(() => []);
  // A process that listens on both families has an address of each.
  const [first] = all.toSorted((a, b) => a.family - b.family);
  const ofOneFamily = all.filter(({ family }) => family === first?.family).map(({ address }) => address);
  return [...new Set(ofOneFamily)]
    .sort()
    .map((address) => `http://${first?.family === 6 ? `[${address}]` : address}:${port || 80}`);
}

/**
 * The admin token: --token-file, ADMIN_TOKEN or ADMIN_TOKEN_FILE. Never the value of a flag, because
 * process lists show flags.
 */
export async function adminToken(
  options: ConnectionOptions,
  env: Env,
  files: Pick<Files, 'text'>,
): Promise<string | undefined> {
  const file = options.tokenFile ?? (env['ADMIN_TOKEN'] ? undefined : env['ADMIN_TOKEN_FILE']);
  if (!file) return env['ADMIN_TOKEN'] || undefined;
  return (await files.text(file, "The admin token's file")).trim();
}

/** Who operates, for the audit records: --operator, OPERATOR, or the name of the account on this machine. */
export function operatorName(options: ConnectionOptions, env: Env): string {
  const given = options.operator ?? env['OPERATOR'];
  if (given !== undefined) {
    // As the services take it: what is left of it would be their word for somebody without a name.
    if (given.replaceAll(/\p{C}/gu, '').trim() !== '') return given;
    throw new CliError(
      exitCodes.usage,
      `${options.operator === undefined ? 'OPERATOR' : '--operator'} is empty. Say who you are, for the audit records, for example --operator kim.`,
    );
  }
  try {
    return userInfo().username;
  } catch {
    // An account without an entry, as in a container with a number for a user.
    return '';
  }
}

/** A call that may have taken effect: no answer came, or the service failed while it handled the call. */
export class UnknownOutcome extends CliError {
  /** What happened, without advice. */
  readonly failure: string;
  constructor(exitCode: number, failure: string, method: DescMethod | undefined, cause: unknown) {
    const advice =
      method && getOption(method, repeatable)
        ? 'The call may have taken effect; it is safe to repeat.'
        : 'The call may have taken effect. Check that before you repeat it: a repeat may take effect again.';
    super(exitCode, `${failure.replace(/\.?$/, '.')} ${advice}`, { cause });
    this.failure = failure;
  }
}

/** Calls a service's admin port at the first of its addresses that answers; failures are CliErrors. */
export function callAdmin<S extends DescService, A>(
  connection: {
    service: AdminService;
    addresses: readonly string[];
    token: string | undefined;
    timeoutMs: number;
    operator: string;
  },
  description: S,
  call: (client: Client<S>) => Promise<A>,
): Promise<A> {
  const { service, addresses, token, timeoutMs, operator } = connection;
  let method: DescMethod | undefined;
  const authorize: Interceptor = (next) => (request) => {
    method = request.method;
    if (token) request.header.set('authorization', `Bearer ${token}`);
    request.header.set(operatorHeaders.operator, encodeURIComponent(operator));
    request.header.set(operatorHeaders.requestId, randomUUID());
    return next(request);
  };
  const tried = async (position: number): Promise<A> => {
    const baseUrl = addresses[position] as string;
    const transport = createConnectTransport({
      baseUrl,
      httpVersion: '1.1',
      interceptors: [authorize],
      defaultTimeoutMs: timeoutMs,
    });
    try {
      return await call(createClient(description, transport));
    } catch (error) {
      // The call had no effect (in Kubernetes no pod of the Service is ready), so the next address may be tried.
      if (neverReached(error) && position + 1 < addresses.length) return tried(position + 1);
      throw explain(error, method, { service, tried: addresses.slice(0, position + 1), timeoutMs });
    }
  };
  return tried(0);
}

/** A process that does not tell of itself. */
export interface NoStatus {
  readonly reason: string;
  /** False: nobody answered. */
  readonly answered: boolean;
  /** It wants another admin token. */
  readonly refusesToken: boolean;
}

/** What a process tells of itself. Never rejects. */
export async function askStatus(
  addresses: readonly string[],
  token: string | undefined,
  timeoutMs: number,
): Promise<ProcessStatus | NoStatus> {
  let reason = '';
  let answered = false;
  let refusesToken = false;
  for (const address of addresses) {
    try {
      const answer = await withinTime(timeoutMs, 'no answer', async (signal) => {
        const headers = token ? { authorization: `Bearer ${token}` } : undefined;
        const given = await fetch(`${address.replace(/\/$/, '')}/status`, {
          ...(headers && { headers }),
          signal,
        });
        return given.ok ? ((await given.json()) as ProcessStatus) : given.status;
      });
      if (typeof answer !== 'number') return answer;
      reason = `${address} answers ${answer}${answer === 401 ? ': it does not accept the admin token' : ''}`;
      answered = true;
      refusesToken = answer === 401;
    } catch (error) {
      reason = `${address}: ${networkReason(error) ?? (error as Error).message}`;
      answered = false;
      refusesToken = false;
      if (!neverReached(error)) break;
    }
  }
  return { reason, answered, refusesToken };
}

/** What a service answers when it has refused a call, and so not begun it. */
const refusals: readonly Code[] = [
  ...[Code.InvalidArgument, Code.NotFound, Code.AlreadyExists, Code.ResourceExhausted],
  ...[Code.FailedPrecondition, Code.Aborted, Code.OutOfRange],
];

function explain(
  error: unknown,
  method: DescMethod | undefined,
  { service, tried, timeoutMs }: { service: AdminService; tried: readonly string[]; timeoutMs: number },
): Error {
  if (error instanceof CliError) return error;
  const where = tried.join(' or ');
  const address = `--admin URL, --${service}-admin URL or ${service.toUpperCase()}_ADMIN`;
  const network = networkReason(error);
  const { code, rawMessage } = ConnectError.from(error);
  const unknown = (exitCode: number, failure: string) => new UnknownOutcome(exitCode, failure, method, error);
  if (network) {
    const failure =
      `Cannot reach the operators' listener of ${service} at ${where} (${network}).\n` +
      `Start the platform (make up; on Kubernetes see whether a pod of ${service} runs), or name the right address with ${address}.`;
    return neverReached(error)
      ? new CliError(exitCodes.unreachable, failure, { cause: error })
      : unknown(exitCodes.unreachable, failure);
  }
  switch (code) {
    case Code.DeadlineExceeded:
      return unknown(exitCodes.unreachable, `${service} at ${where} did not answer within ${timeoutMs} ms.`);
    case Code.Unavailable:
      return unknown(
        exitCodes.unreachable,
        `${service} at ${where} is not available: ${visible(rawMessage)}`,
      );
    case Code.Unauthenticated:
      return new CliError(
        exitCodes.unauthenticated,
        `${service} at ${where} does not accept the admin token. Set ADMIN_TOKEN, ADMIN_TOKEN_FILE or --token-file; on Kubernetes start the operators' pod again, which then has the present one.`,
      );
    case Code.Unimplemented:
    // No operators' call has this error; the public API gives it for every unknown path.
    case Code.PermissionDenied:
      return new CliError(
        exitCodes.unreachable,
        `What answers at ${where} is not the operators' listener of ${service}. Name the right address with ${address}.`,
      );
    default:
      return refusals.includes(code)
        ? new CliError(exitCodes.refused, visible(rawMessage), { cause: error })
        : unknown(exitCodes.refused, visible(rawMessage));
  }
}

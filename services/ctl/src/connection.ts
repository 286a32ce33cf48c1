import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { CliError, exitCodes, refusedError, usageError } from '@headset-cloud/cli/exit-codes.ts';
import { networkReason, neverReached } from '@headset-cloud/cli/network.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import type { Files } from '@headset-cloud/cli/standard-streams.ts';
import { withinTime } from '@headset-cloud/outbound/time-limit.ts';
import type { ProcessStatus } from '@headset-cloud/process/admin-server.ts';
import { repeatable } from '@headset-cloud/proto/common/v1/repeatable_pb.ts';
import { operatorHeaders } from '@headset-cloud/rules/audit/operator.ts';
import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import type { Command } from 'commander';

/** Processes that `ctl status` asks, in this order, with their usual ports on this machine. */
const ports = {
  gateway: 9100,
  devices: 9101,
  transactions: 9102,
  'device-link': 9103,
  notifier: 9104,
  updates: 9105,
  connectivity: 9106,
  communication: 9107,
  billing: 9108,
} as const;
export type AdminProcess = keyof typeof ports;
export const adminProcesses = Object.keys(ports) as AdminProcess[];

/** The services that have an operators' listener. */
export type AdminService = Exclude<AdminProcess, 'gateway' | 'device-link'>;

/** Adds the options for the admin addresses. */
export function addressOptions(program: Command): Command {
  program.option('--admin <url>', "the operators' listener of all services");
  for (const name of adminProcesses) program.option(`--${name}-admin <url>`, `the listener of ${name}`);
  return program;
}

type AddressOption = 'admin' | `${Exclude<AdminProcess, 'device-link'> | 'deviceLink'}Admin`;

/** Options of ctl that a call needs. */
export type ConnectionOptions = { readonly [name in AddressOption | 'tokenFile' | 'operator']?: string } & {
  readonly timeoutMs: number;
};

type Env = Readonly<Record<string, string | undefined>>;

/** Address of the whole platform in one process, as `make up` starts it. */
const onePort = 'http://127.0.0.1:9100';
/** File to which `make up` writes the addresses of the running platform. CTL_ADDRESSES_FILE names another file. */
const addressesFile = resolve(import.meta.dirname, '../../../.data/addresses.json');

/** The listeners that `make up` has written, by process; empty if no platform runs. */
function writtenAddresses(env: Env): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(env['CTL_ADDRESSES_FILE'] || addressesFile, 'utf8')) as Record<
      string,
      string
    >;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    const reason = (cause as Error).message;
    throw usageError(`The file of the listeners cannot be read: ${reason}`, { cause });
  }
}

/** The address from a setting. The most specific setting wins, and flags override the environment. */
function givenAddress(service: AdminProcess, options: ConnectionOptions, env: Env): string | undefined {
  const variable = `${service.toUpperCase().replace('-', '_')}_ADMIN`;
  const flag = `${service === 'device-link' ? 'deviceLink' : service}Admin` as const;
  return options[flag] ?? options.admin ?? (env[variable] || undefined) ?? (env['ADMIN_URL'] || undefined);
}

/**
 * Addresses to try for a process: the comma-separated addresses of a setting. Without a setting: the listener that
 * `make up` has written, then the usual addresses on this machine.
 */
export function adminAddresses(service: AdminProcess, options: ConnectionOptions, env: Env): string[] {
  const given = givenAddress(service, options, env);
  if (given === undefined) {
    const written = writtenAddresses(env);
    const listener = written[service] ?? written['platform'];
    return listener ? [listener] : [...new Set([onePort, `http://127.0.0.1:${ports[service]}`])];
  }
  const addresses = given.split(',').map((address) => address.trim());
  const wrong = addresses.find((one) => !/^https?:\/\/[^/]/i.test(one) || !URL.canParse(one));
  if (wrong !== undefined) {
    throw usageError(
      `The admin address ${JSON.stringify(wrong)} is not an http or https address. Example: ${onePort}`,
    );
  }
  return addresses;
}

/** Resolves a host name. */
type AddressesOf = (name: string) => Promise<{ readonly address: string; readonly family: number }[]>;

/** One process of a service. */
export interface Instance {
  /** Service name, with a number from the second process on: notifier, notifier-2. */
  readonly name: string;
  /** Addresses to try for the process. */
  readonly addresses: readonly string[];
}

/**
 * All processes of a service. There are several if `make up` has written several listeners for the service. There are
 * also several if the host in the last address of a setting has several IP addresses, like a headless Service of
 * Kubernetes.
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

/** The addresses of a host name, as URLs. Empty if the name must be kept for TLS, or is unknown. */
async function resolved(url: string, addressesOf: AddressesOf): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'http:') return [];
  const all = await addressesOf(hostname).catch(() => []);
  // A process that listens on both address families has an address of each.
  const [first] = all.toSorted((a, b) => a.family - b.family);
  const ofOneFamily = all.filter(({ family }) => family === first?.family).map(({ address }) => address);
  return [...new Set(ofOneFamily)]
    .sort()
    .map((address) => `http://${first?.family === 6 ? `[${address}]` : address}:${port || 80}`);
}

/**
 * The admin token from --token-file, ADMIN_TOKEN or ADMIN_TOKEN_FILE. It is never the value of a flag, because process
 * lists show flags.
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

/** The operator's name for the audit records: --operator, OPERATOR, or the name of the account on this machine. */
export function operatorName(options: ConnectionOptions, env: Env): string {
  const given = options.operator ?? env['OPERATOR'];
  if (given !== undefined) {
    // Uses the services' rule: a name without printable characters counts as empty.
    if (given.replaceAll(/\p{C}/gu, '').trim() !== '') return given;
    throw usageError(
      `${options.operator === undefined ? 'OPERATOR' : '--operator'} is empty. Give your name for the audit records, for example --operator kim.`,
    );
  }
  try {
    return userInfo().username;
  } catch {
    // An account without an entry, as in a container with a numeric user.
    return '';
  }
}

/** A call that may have taken effect: no answer arrived, or the service failed during the call. */
export class UnknownOutcome extends CliError {
  /** The failure, without advice. */
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

/** Calls a service's admin port at the first of its addresses that answers. Failures are CliErrors. */
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
  const callAt = async (index: number): Promise<A> => {
    const baseUrl = addresses[index] as string;
    const transport = createConnectTransport({
      baseUrl,
      httpVersion: '1.1',
      interceptors: [authorize],
      defaultTimeoutMs: timeoutMs,
    });
    try {
      return await call(createClient(description, transport));
    } catch (error) {
      // The call had no effect (for example, no pod of the Kubernetes Service is ready), so the next address may be
      // tried.
      if (neverReached(error) && index + 1 < addresses.length) return callAt(index + 1);
      if (ConnectError.from(error).code === Code.Unimplemented && !(error instanceof CliError)) {
        throw await explainMissing(error, method, { service, baseUrl, token, timeoutMs });
      }
      throw explain(error, method, { service, tried: addresses.slice(0, index + 1), timeoutMs });
    }
  };
  return callAt(0);
}

/** Result for a process that does not report its status. */
export interface NoStatus {
  readonly reason: string;
  /** False if nothing answered. */
  readonly answered: boolean;
  /** True if the process requires another admin token. */
  readonly refusesToken: boolean;
}

/** Status of a process. Never rejects. */
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

const addressSettings = (service: AdminService) =>
  `--admin URL, --${service}-admin URL or ${service.toUpperCase()}_ADMIN`;

const notTheListener = (service: AdminService, where: string) =>
  `The server at ${where} is not the operators' listener of ${service}. Give the correct address with ${addressSettings(service)}.`;

/**
 * Explains an answer that the server does not have the method. The server's status shows whether the server is another
 * process, or an older version of the service.
 */
async function explainMissing(
  cause: unknown,
  method: DescMethod | undefined,
  given: { service: AdminService; baseUrl: string; token: string | undefined; timeoutMs: number },
): Promise<CliError> {
  const { service, baseUrl, token, timeoutMs } = given;
  const status = await askStatus([baseUrl], token, timeoutMs);
  // `platform` is the whole platform in one process.
  const { service: found, version = '' } = (status ?? {}) as Partial<ProcessStatus>;
  if (found !== service && found !== 'platform') {
    return new CliError(exitCodes.unreachable, notTheListener(service, baseUrl), { cause });
  }
  const versions = `version ${visible(version)}; ctl has version ${platformVersion()}`;
  return new CliError(
    exitCodes.unreachable,
    `${service} at ${baseUrl} does not have the call ${method?.name ?? ''}: the service is older than ctl (${versions}). Upgrade the service, or use the ctl of its version.`,
    { cause },
  );
}

/** Codes with which a service rejects a call without starting it. */
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
  const address = addressSettings(service);
  const network = networkReason(error);
  const { code, rawMessage } = ConnectError.from(error);
  const unknown = (exitCode: number, failure: string) => new UnknownOutcome(exitCode, failure, method, error);
  if (network) {
    const failure =
      `Cannot reach the operators' listener of ${service} at ${where} (${network}).\n` +
      `Start the platform (make up; on Kubernetes check the pods of ${service}), or give the correct address with ${address}.`;
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
        `${service} at ${where} does not accept the admin token. Set ADMIN_TOKEN, ADMIN_TOKEN_FILE or --token-file; on Kubernetes restart the operators' pod to load the current token.`,
      );
    // No operators' listener returns PermissionDenied. The public API returns it for every unknown path.
    case Code.PermissionDenied:
      return new CliError(exitCodes.unreachable, notTheListener(service, where));
    default:
      return refusals.includes(code)
        ? refusedError(visible(rawMessage), { cause: error })
        : unknown(exitCodes.refused, visible(rawMessage));
  }
}

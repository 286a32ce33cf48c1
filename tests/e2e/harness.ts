import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiAnswer, type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import type { Headset, HeadsetOptions } from '@headset-cloud/demo/headset/headset.ts';
import {
  type IntegratorOptions,
  type IntegratorServer,
  type Received,
  startIntegrator,
} from '@headset-cloud/demo/integrator/server.ts';
import {
  type Admin,
  type AdminAddresses,
  createAdmin,
  provisionApplication,
  provisionDevice,
} from '@headset-cloud/demo/provision.ts';
import { type Backing, type SharedBacking, shareBacking } from '@headset-cloud/demo/stack/backing.ts';
import type { IssuerClient } from '@headset-cloud/demo/stack/stack.ts';
import { callbackCheck, callbackNameOf } from '@headset-cloud/gateway/openapi/callbacks.ts';
import { answerCheck } from '@headset-cloud/gateway/testing/contract.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Fault, faultyHeadset } from '../conformance/faults/fault.ts';
import { describeUnless } from '../support/skip.ts';
import { noteSecret, noteSecretsIn } from './log-secrets.ts';

interface StackInfo {
  readonly kind: 'embedded' | 'real';
  /** True if each process runs all services. */
  readonly oneProcess: boolean;
  readonly dataDir: string;
  readonly apiUrl: string;
  readonly issuerUrl: string;
  readonly tokenUrl: string;
  readonly deviceLinkUrl: string;
  readonly soraWebhookUrl: string;
  /** The file server of a stack without S3. */
  readonly filesUrl: string;
  readonly admin: AdminAddresses;
  readonly adminUrls: Readonly<Record<string, string>>;
  readonly clientsFile: string;
  /** The servers of the real stack. */
  readonly backing?: SharedBacking;
}

const missing = process.env['HEADSET_STACK_MISSING'];

/** The running platform of this suite. */
export const stack: StackInfo = missing
  ? ({} as StackInfo)
  : JSON.parse(process.env['HEADSET_STACK'] ?? '{}');

/** Names on the suite's servers for a second platform; undefined on the embedded stack. */
export async function ownBacking(): Promise<Backing | undefined> {
  return stack.backing && shareBacking(stack.backing, `own-${randomBytes(4).toString('hex')}`);
}

const openTenants = new Set<Tenant>();

/**
 * `describe`, skipped if the stack cannot run. Closes the tenants that a failed test has left open:
 * their servers and streams would keep the whole run from ending.
 */
export function describeOnStack(name: string, body: () => void): void {
  describeUnless(missing, name, () => {
    body();
    // Hooks run in the order of their registration, so this hook runs after the hooks of the tests.
    afterAll(async () => {
      await Promise.all([...openTenants].map((tenant) => tenant.close()));
    });
  });
}

export const admin = (): Admin => createAdmin(stack.admin);

/** The time `ms` milliseconds ago; milliseconds since 1970. */
export const ago = (ms: number): number => Date.now() - ms;

/** A made-up IMEI. */
export function imei(): string {
  return `35${String(randomInt(10 ** 12)).padStart(13, '0')}`;
}

/** An integrator with an application, contracted headsets and a server. */
export interface Tenant {
  readonly applicationId: string;
  readonly clientId: string;
  readonly client: IssuerClient;
  /** Every answer is validated against cws_api.yaml. */
  readonly api: ApiClient;
  /** The same client and application with a token for other scopes; closed with the tenant. */
  apiWith(scope: string): ApiClient;
  readonly integrator: IntegratorServer;
  readonly devices: readonly HeadsetKeyFile[];
  /** Makes a call and returns its answer; throws if the answer has another status. */
  call(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiAnswer>;
  /** Activates a device (the first). */
  activate(device?: HeadsetKeyFile): Promise<number>;
  command(device?: HeadsetKeyFile, body?: Record<string, unknown>): Promise<number>;
  /** A simulated headset, not connected; closed with the tenant. `faults` break rules of the protocol page. */
  headset(device?: HeadsetKeyFile, options?: Partial<HeadsetOptions>, faults?: readonly Fault[]): Headset;
  /** Verified callbacks of a transaction in order of first arrival. */
  callbacks(transactionId: number): Received[];
  /** Waits for the callback that ends a transaction and returns its body. */
  ended(transactionId: number): Promise<Record<string, unknown>>;
  status(transactionId: number): Promise<string>;
  /**
   * All transactions of the application (up to 100) by id, once no transaction is 'created' any more: two equal
   * lists prove that nothing was written in between.
   */
  transactions(): Promise<ListedTransaction[]>;
  /** Throws if a verified callback had no form that cws_notification.yaml describes. */
  close(): Promise<void>;
}

/** A transaction as the list shows it. */
export interface ListedTransaction {
  readonly transactionId: number;
  readonly deviceId: string;
  readonly transactionStatus: string;
  readonly operationId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export async function createTenant(
  options: {
    devices?: number;
    activationLimit?: number;
    configure?: boolean;
    /** Registered devices that this contract also contains; they are first. */
    alsoDevices?: readonly HeadsetKeyFile[];
    /** A tenant whose developer and client also get this application. */
    sameDeveloperAs?: Tenant;
    /** How the integrator's server answers; default 204. */
    answer?: IntegratorOptions['answer'];
  } = {},
): Promise<Tenant> {
  const operators = admin();
  const client = options.sameDeveloperAs?.client ?? newIssuerClient();
  const devices: HeadsetKeyFile[] = [...(options.alsoDevices ?? [])];
  for (let i = 0; i < (options.devices ?? (options.alsoDevices ? 0 : 1)); i++)
    devices.push(await provisionDevice(operators, imei()));
  const applicationId = await provisionApplication(operators, {
    developerId: `developer-${client.clientId}`,
    clientIds: [client.clientId],
    name: 'test',
    activationLimit: options.activationLimit ?? 100,
    deviceIds: devices.map((d) => d.deviceId),
  });
  const clients: ApiClient[] = [];
  const apiWith = (scope?: string): ApiClient => {
    const access = { apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client };
    const made = contractChecked(
      createApiClient(access, scope === undefined ? {} : { scope }),
      applicationId,
    );
    clients.push(made);
    return made;
  };
  const api = apiWith();
  const strangeCallbacks: string[] = [];
  const integrator = await startIntegrator({
    keys: [],
    ...(options.answer && { answer: options.answer }),
    onArrival: ({ verified, body }) => {
      if (verified) strangeCallbacks.push(...callbackProblems(body));
    },
  });
  const headsets: Headset[] = [];
  const first = devices[0] as HeadsetKeyFile;

  const tenant: Tenant = {
    applicationId,
    clientId: client.clientId,
    client,
    api,
    apiWith,
    integrator,
    devices,
    async call(status, method, path, body, headers) {
      const answer = await api.app(method, path, body, headers);
      if (answer.status !== status) {
        throw new Error(
          `${method} ${path}: ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)} ${answer.headers['x-error-detail'] ?? ''}`,
        );
      }
      return answer;
    },
    async activate(device = first) {
      const answer = await tenant.call(201, 'POST', `/devices/${device.deviceId}`, {
        clientId: `app-${randomBytes(6).toString('hex')}`,
      });
      return answer.body.transactionId;
    },
    async command(device = first, body = {}) {
      const answer = await tenant.call(201, 'PUT', `/devices/${device.deviceId}/commands`, {
        package: 'com.example.app',
        launchType: 'activity',
        ...body,
      });
      return answer.body.transactionId;
    },
    headset(device = first, more = {}, faults = []) {
      const options = {
        identity: device,
        server: stack.deviceLinkUrl,
        stateDir: mkdtempSync(join(stack.dataDir, 'headset-')),
        backoff: { firstMs: 50, maxMs: 500 },
        ...more,
      };
      const headset = faultyHeadset(options, faults);
      headsets.push(headset);
      return headset;
    },
    callbacks: (id) => integrator.received.filter((r) => r.verified && r.body['transactionId'] === id),
    async ended(id) {
      const end = await waitFor(`the end of transaction ${id}`, () =>
        tenant.callbacks(id).find((c) => c.body['notificationType'] === 'processed'),
      );
      return end.body;
    },
    async status(id) {
      return (await tenant.call(200, 'GET', `/transactions/${id}`)).body.transactionStatus;
    },
    async transactions() {
      return waitFor('the transactions to be published', async () => {
        const list: ListedTransaction[] = (await tenant.call(200, 'GET', '/transactions')).body.transactions;
        return list.every((t) => t.transactionStatus !== 'created') && list;
      });
    },
    async close() {
      if (!openTenants.delete(tenant)) return;
      await Promise.all(headsets.map((h) => h.close()));
      await Promise.all(clients.map((c) => c.close()));
      await integrator.close();
      if (strangeCallbacks.length > 0) {
        throw new Error(`callbacks not of a documented form: ${strangeCallbacks.join('; ')}`);
      }
    },
  };
  openTenants.add(tenant);
  if (options.configure !== false) {
    await tenant.call(200, 'PATCH', '', { deviceEvent: integrator.url });
    const { body } = await tenant.call(201, 'POST', '/refresh_authkey');
    integrator.keys.push(body.authenticationKey);
  }
  return tenant;
}

/** A client that the issuer knows from now on, without a developer. */
export function newIssuerClient(): IssuerClient {
  const client = {
    clientId: `client-${randomBytes(6).toString('hex')}`,
    clientSecret: randomBytes(24).toString('hex'),
  };
  noteSecret(stack.dataDir, client.clientSecret);
  // The issuer reads its clients at each token request.
  const file = stack.clientsFile;
  const clients = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const fresh = `${file}.${process.pid}.tmp`;
  writeFileSync(fresh, JSON.stringify([...clients, client]), { mode: 0o600 });
  renameSync(fresh, file);
  return client;
}

let checkAnswer: ReturnType<typeof answerCheck> | undefined;

/** Validates every answer against the document (rule C19). */
export function contractChecked(api: ApiClient, applicationId: string): ApiClient {
  const call: ApiClient['call'] = async (method, path, body, headers) => {
    noteSecretsIn(stack.dataDir, body);
    const answer = await api.call(method, path, body, headers);
    noteSecretsIn(stack.dataDir, answer.body);
    checkAnswer ??= answerCheck();
    const problems = checkAnswer(method, path, {
      status: answer.status,
      headers: answer.headers as Record<string, string>,
      text: answer.body === undefined ? '' : JSON.stringify(answer.body),
    });
    if (problems.length > 0) throw new Error(`${method} ${path}: ${problems.join('; ')}`);
    return answer;
  };
  return {
    ...api,
    call,
    app: (method, path, body, headers) =>
      call(method, `/v1/applications/${applicationId}${path}`, body, headers),
  };
}

let checkCallback: ReturnType<typeof callbackCheck> | undefined;

function callbackProblems(body: Record<string, unknown>): readonly string[] {
  checkCallback ??= callbackCheck();
  return checkCallback(callbackNameOf(body), body);
}

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import { writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { type ApiClient, createApiClient } from '../api.ts';
import { type Admin, createAdmin, provisionApplication, provisionDevice } from '../provision.ts';
import { root } from '../stack/process.ts';
import type { IssuerClient, Stack } from '../stack/stack.ts';
import { shown } from './folder.ts';
import { headsetKeyFileIn, integratorKeyFile } from './secrets.ts';

/** Content of `.data/demo.json`: addresses and ids for manual calls. */
export interface Demo {
  readonly apiUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly applicationId: string;
  readonly deviceId: string;
  readonly deviceLinkUrl: string;
  readonly headsetKeyFile: string;
  readonly integratorUrl: string;
  readonly authenticationKey: string;
}

type Known = Omit<Demo, 'apiUrl' | 'tokenUrl' | 'clientId' | 'clientSecret' | 'deviceLinkUrl'>;

/** Developer of the demo's applications. */
const developerId = 'demo-developer';

/**
 * Provisions the demo's application and headset, and writes demo.json with the addresses of this run. The application
 * and headset of an earlier run are reused if the platform knows the application. Otherwise the application was
 * forgotten, the folder was used with another stack, or the database is new; then `note` is a message to the user.
 */
export async function openDemo(
  stack: Stack,
  { integratorUrl, adminToken }: { integratorUrl: string; adminToken: string | undefined },
): Promise<{ demo: Demo; api: ApiClient; note: string | undefined }> {
  const { dataDir } = stack;
  const client = stack.clients[0];
  if (!client) throw new Error('the issuer has no client');
  const admin = createAdmin(stack.admin, adminToken);
  const file = join(dataDir, 'demo.json');
  const earlier = read(file);
  const state = earlier ? await applicationState(admin, earlier) : undefined;
  const known = state === 'known' ? earlier : undefined;
  const { applicationId, deviceId, headsetKeyFile } = known ?? (await provision(admin, client, dataDir));
  const { apiUrl, tokenUrl, deviceLinkUrl } = stack;
  const api = createApiClient({ ...client, apiUrl, tokenUrl, applicationId });
  // Keep settings that the user has changed. Only the URL of an earlier run is replaced.
  if (integratorUrl !== known?.integratorUrl) await registerCallbackUrl(api, integratorUrl);
  const authenticationKey = known?.authenticationKey ?? (await newKey(api));
  const demo: Demo = {
    ...{ apiUrl, tokenUrl, ...client, applicationId, deviceId, deviceLinkUrl, headsetKeyFile },
    ...{ integratorUrl, authenticationKey },
  };
  const keyFile = integratorKeyFile(dataDir);
  if (!known || !existsSync(keyFile)) writeSecretFile(keyFile, authenticationKey);
  writeSecretFile(file, `${JSON.stringify(demo, null, 2)}\n`);
  const gone = known ? undefined : earlier?.applicationId;
  const note =
    state === 'forgotten'
      ? `application ${gone} was forgotten (ctl applications forget), and its id cannot be used again: a new application is created`
      : gone &&
        `application ${gone} of demo.json does not exist in these databases: a new application is created`;
  return { demo, api, note };
}

/** Folder of the demo headset's state; one per headset. */
export function headsetStateDir(dataDir: string, { deviceId }: Demo): string {
  return join(dataDir, 'headset', deviceId);
}

/** Reads demo.json. Returns undefined for a damaged file, which is then replaced. */
function read(file: string): Known | undefined {
  try {
    const demo = JSON.parse(readFileSync(file, 'utf8')) as Known;
    return existsSync(resolve(root, demo.headsetKeyFile)) ? demo : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the platform knows the application of an earlier run. A forgotten application still has a contract. */
async function applicationState(
  admin: Admin,
  { applicationId }: Known,
): Promise<'known' | 'forgotten' | 'unknown'> {
  const { applications } = await admin.devices.listApplications({ developerId });
  if (applications.some((one) => one.applicationId === applicationId)) return 'known';
  try {
    await admin.devices.getContract({ applicationId });
    return 'forgotten';
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return 'unknown';
    throw error;
  }
}

/** Provisions an application and a headset through the operators' API. */
async function provision(
  admin: Admin,
  { clientId }: IssuerClient,
  dataDir: string,
): Promise<Pick<Known, 'applicationId' | 'deviceId' | 'headsetKeyFile'>> {
  const deviceId = `35${String(Date.now()).slice(-13)}`;
  const keyFile = headsetKeyFileIn(dataDir);
  writeSecretFile(keyFile, JSON.stringify(await provisionDevice(admin, deviceId), null, 2));
  const applicationId = await provisionApplication(admin, {
    developerId,
    clientIds: [clientId],
    name: 'Demo',
    activationLimit: 10,
    deviceIds: [deviceId],
  });
  return { applicationId, deviceId, headsetKeyFile: shown(keyFile) };
}

async function registerCallbackUrl(api: ApiClient, deviceEvent: string): Promise<void> {
  const { status, body } = await api.app('PATCH', '', { deviceEvent });
  if (status !== 200) throw new Error(`settings were refused: ${status} ${JSON.stringify(body)}`);
}

async function newKey(api: ApiClient): Promise<string> {
  const { status, body } = await api.app('POST', '/refresh_authkey');
  if (status !== 201) throw new Error(`no authentication key: ${status} ${JSON.stringify(body)}`);
  return body.authenticationKey;
}

import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { describeWith } from '../../support/skip.ts';
import { chartFolder, componentOf, kubeVersions, type Resource } from './chart.ts';
import { ownSettings } from './settings.ts';

/** Secrets and ConfigMaps that a cluster has, by kind and name. */
type Cluster = Readonly<Record<string, object>>;

const kinds = { secrets: 'Secret', configmaps: 'ConfigMap' };

/** Answer to a caller without the right to read. */
const forbidden = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403 };

/** The part of an API server that Helm's `lookup` uses. */
function apiServer(cluster: Cluster) {
  const discovery = {
    kind: 'APIResourceList',
    groupVersion: 'v1',
    resources: Object.entries(kinds).map(([name, kind]) => ({
      name,
      kind,
      namespaced: true,
      verbs: ['get'],
    })),
  };
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, name] = /^\/api\/v1\/namespaces\/headset\/(.+)$/.exec(pathname) ?? [];
    const found = pathname === '/api/v1' ? discovery : cluster[name ?? ''];
    response.writeHead(found === forbidden ? 403 : found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(
        found ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 },
      ),
    );
  });
}

/** The resources that an install or upgrade in this cluster would apply. */
async function resourcesIn(cluster: Cluster, file: string, values: object = {}): Promise<Resource[]> {
  const server = apiServer(cluster);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const args = [
      'template',
      'trial',
      chartFolder,
      '--namespace',
      'headset',
      '--kube-version',
      kubeVersions[1],
    ];
    args.push(
      '--dry-run=server',
      '--kubeconfig',
      '/dev/null',
      '--kube-apiserver',
      `http://127.0.0.1:${port}`,
    );
    args.push('--values', join(chartFolder, file));
    for (const [key, value] of Object.entries(values)) args.push('--set', `${key}=${value}`);
    const { stdout } = await promisify(execFile)('helm', args, { maxBuffer: 2 ** 26 });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Resource | null)
      .filter((resource): resource is Resource => resource !== null);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A Secret or ConfigMap. `content` may differ at the same keys; `version` changes with everything, also with a label. */
const object = (
  kind: string,
  name: string,
  resourceVersion: string,
  keys: readonly string[],
  content = 'eA==',
) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'headset', resourceVersion },
  // An object without keys has no `data`.
  ...(keys.length > 0 && { data: Object.fromEntries(keys.map((key) => [key, content])) }),
});
/** The keys of the manual's Secret. */
const manualKeys = ['mongodb-uri', 'secret-key', 'admin-token', 's3-credentials'];
const secret = (name: string, version: string, keys = manualKeys, content = 'eA=='): Cluster => ({
  [`secrets/${name}`]: object('Secret', name, version, keys, content),
});
const configMap = (name: string, version: string, keys = ['ca.crt'], content = 'eA=='): Cluster => ({
  [`configmaps/${name}`]: object('ConfigMap', name, version, keys, content),
});

/** Pod templates, by component. A Job is named by its own name. */
const podsOf = (all: readonly Resource[]) =>
  new Map(
    all
      .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
      .map((one) => [
        componentOf(one.metadata.labels),
        one.kind === 'Job' ? one.metadata.name : JSON.stringify(one['spec'].template),
      ]),
  );

/** The components with pods that a change replaces. */
const rolled = (before: readonly Resource[], after: readonly Resource[]) => {
  const old = podsOf(before);
  return [...podsOf(after)].filter(([name, pod]) => pod !== old.get(name)).map(([name]) => name);
};

describeWith(['helm'], 'an upgrade in a cluster that Helm can look at', () => {
  const production = (cluster: Cluster) =>
    resourcesIn(cluster, 'values-production.yaml', { caBundleConfigMap: 'authorities' });
  const before = { ...secret('headset-cloud', '7'), ...configMap('authorities', '1') };

  it('replaces no pod if nothing changed', async () => {
    expect(await production(before)).toEqual(await production(before));
  });

  it.each([
    ['a Secret', secret('headset-cloud', '8', manualKeys, 'eQ==')],
    [
      'one key of a Secret',
      {
        'secrets/headset-cloud': {
          ...object('Secret', 'headset-cloud', '8', manualKeys),
          data: { ...object('Secret', 'headset-cloud', '8', manualKeys).data, 'admin-token': 'eQ==' },
        },
      },
    ],
    ['the bundle of authorities', configMap('authorities', '2', ['ca.crt'], 'other')],
  ])('replaces every pod, and runs the Job again, where %s changed', async (_, changed) => {
    const [old, now] = [await production(before), await production({ ...before, ...changed })];
    expect(rolled(old, now).sort()).toEqual([...podsOf(old).keys()].sort());
  });

  it.each([
    ['a label of a Secret', secret('headset-cloud', '8')],
    ['a key of a Secret that no pod reads', secret('headset-cloud', '8', [...manualKeys, 'other'])],
    ['a label of the bundle of authorities', configMap('authorities', '2')],
  ])('replaces no pod where only %s changed', async (_, changed) => {
    const [old, now] = [await production(before), await production({ ...before, ...changed })];
    expect(rolled(old, now)).toEqual([]);
  });

  it('hashes the keys of a Secret together, so that readers of pods get no hash of a single weak password', async () => {
    const mark = async (cluster: Cluster, values: object) => {
      const all = await resourcesIn(cluster, 'values-production.yaml', values);
      const pod = all.find(({ kind }) => kind === 'Deployment')?.['spec'].template;
      return pod.metadata.annotations['headset-cloud/secrets'];
    };
    const kafka = {
      'kafka.sasl.mechanism': 'scram-sha-512',
      'kafka.sasl.username': 'user',
      'secrets.kafkaPassword.name': 'kafka',
    };
    const weak = (content: string) => secret('kafka', '1', ['kafka-password'], content);
    // If the platform's own key is not found, only the version counts.
    expect(await mark(weak('d2Vhaw=='), kafka)).toBe(await mark(weak('b3RoZXI='), kafka));
    expect(await mark(weak('d2Vhaw=='), kafka)).not.toBe(await mark({}, kafka));
    const withKey = (content: string) => ({
      ...weak('d2Vhaw=='),
      'secrets/headset-cloud': {
        ...object('Secret', 'headset-cloud', '7', manualKeys),
        data: { ...object('Secret', 'headset-cloud', '7', manualKeys).data, 'secret-key': content },
      },
    });
    expect(await mark(withKey('eQ=='), kafka)).not.toBe(await mark(withKey('eg=='), kafka));
  });

  it('replaces no pod of a trial after its install, although the install created the Secret', async () => {
    const installed = await resourcesIn({}, 'values-trial.yaml');
    const upgraded = await resourcesIn(secret('trial-trial', '7'), 'values-trial.yaml');
    expect(rolled(installed, upgraded)).toEqual([]);
  });

  it('replaces every pod that reads a changed Secret of the trial, the issuer’s as well', async () => {
    const keys = ['secret-key', 'admin-token', 'issuer-clients.json'];
    const trial = (version: string, value: string, changed = keys) => {
      const own = object('Secret', 'own', version, keys);
      const data = { ...own.data, ...Object.fromEntries(changed.map((key) => [key, value])) };
      return resourcesIn({ 'secrets/own': { ...own, data } }, 'values-trial.yaml', { 'trial.secret': 'own' });
    };
    const names = rolled(await trial('1', 'eA=='), await trial('2', 'eQ=='));
    expect(names).toEqual(expect.arrayContaining(['trial-issuer', ...Object.keys(ownSettings)]));
    const clients = await trial('2', 'eQ==', ['issuer-clients.json']);
    expect(rolled(await trial('1', 'eA=='), clients)).toContain('trial-issuer');
  });
});

describeWith(['helm'], 'an install in a cluster that Helm can look at', () => {
  const without = (keys: readonly string[], ...left: string[]) => keys.filter((key) => !left.includes(key));
  const before = secret('headset-cloud', '7');
  /** Helm's error; empty if Helm continues. */
  const saidTo = (cluster: Cluster, values: object) =>
    resourcesIn(cluster, 'values-production.yaml', values).then(
      () => '',
      (error: Error) => error.message,
    );
  const tls = ['tls.crt', 'tls.key', 'ca.crt'];
  const rpc = (keys: readonly string[]): Cluster =>
    Object.assign(
      {},
      before,
      ...Object.keys(ownSettings).map((component) => secret(`rpc-${component}`, '1', [...keys])),
    );
  const secretPrefix = { 'rpcTls.issuer.name': '', 'rpcTls.secretPrefix': 'rpc' };

  it.each<[string, Cluster, object, string, string, string]>([
    ...manualKeys.map((key): [string, Cluster, object, string, string, string] => {
      const path = `secrets.${key.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())}`;
      const found = secret('headset-cloud', '7', without(manualKeys, key));
      return [`the key ${key}`, found, {}, path, 'Secret headset-cloud', key];
    }),
    [
      'any key',
      secret('headset-cloud', '7', []),
      {},
      'secrets.adminToken',
      'Secret headset-cloud',
      'admin-token',
    ],
    [
      'a key that the values name',
      before,
      { 'secrets.adminToken.key': 'token' },
      'secrets.adminToken',
      'Secret headset-cloud',
      'token',
    ],
    [
      'the headsets’ private key',
      { ...before, ...secret('headsets', '1', ['tls.crt']) },
      { 'headsets.tls.secret': 'headsets' },
      'headsets.tls.secret',
      'Secret headsets',
      'tls.key',
    ],
    [
      'the authority of calls between pods',
      rpc(without(tls, 'ca.crt')),
      secretPrefix,
      'rpcTls.secretPrefix',
      'Secret rpc-device-link',
      'ca.crt',
    ],
    [
      'the bundle of authorities',
      { ...before, ...configMap('authorities', '1', ['bundle.pem']) },
      { caBundleConfigMap: 'authorities' },
      'caBundleConfigMap',
      'ConfigMap authorities',
      'ca.crt',
    ],
  ])('is refused where what exists lacks %s', async (_, cluster, values, path, name, key) => {
    expect(await saidTo(cluster, values)).toContain(
      `- ${path}: the ${name} in the namespace headset has no key ${key}`,
    );
  });

  it.each([
    ['is empty', ''],
    ['has a line’s end only', 'Cg=='],
  ])('is refused where the key of a Secret %s', async (_, data) => {
    const found = object('Secret', 'headset-cloud', '7', manualKeys);
    const cluster = { 'secrets/headset-cloud': { ...found, data: { ...found.data, 'admin-token': data } } };
    expect(await saidTo(cluster, {})).toContain(
      '- secrets.adminToken: the key admin-token of the Secret headset-cloud in the namespace headset is empty, and processes would refuse it: give it its value',
    );
  });

  it('is rejected if the bundle of authorities is empty', async () => {
    const empty = { ...object('ConfigMap', 'authorities', '1', []), data: { 'ca.crt': ' \n' } };
    const cluster = { ...before, 'configmaps/authorities': empty };
    expect(await saidTo(cluster, { caBundleConfigMap: 'authorities' })).toContain(
      '- caBundleConfigMap: the key ca.crt of the ConfigMap authorities in the namespace headset is empty',
    );
  });

  it.each(['secret-key', 'admin-token', 'issuer-clients.json'])(
    'is rejected if the Secret of a trial has no key %s',
    async (key) => {
      const own = ['secret-key', 'admin-token', 'issuer-clients.json'];
      const install = (keys: readonly string[]) =>
        resourcesIn(secret('own', '1', [...keys]), 'values-trial.yaml', { 'trial.secret': 'own' }).then(
          () => '',
          (error: Error) => error.message,
        );
      expect(await install(without(own, key))).toContain(
        `- trial.secret: the Secret own in the namespace headset has no key ${key}`,
      );
      expect(await install(own)).toBe('');
    },
  );

  it('continues if all keys exist, or if a Secret will be created', async () => {
    const whole = { ...rpc(tls), ...secret('headsets', '1', ['tls.crt', 'tls.key']) };
    const values = { ...secretPrefix, 'headsets.tls.secret': 'headsets' };
    expect(await resourcesIn(whole, 'values-production.yaml', values)).not.toEqual([]);
    expect(await resourcesIn({}, 'values-production.yaml', values)).not.toEqual([]);
  });

  it('is possible without the right to read Secrets: secrets.inspect=false reads none', async () => {
    const cluster = { 'secrets/headset-cloud': forbidden, 'configmaps/authorities': forbidden };
    const values = { caBundleConfigMap: 'authorities' };
    expect(await saidTo(cluster, values)).toContain('error calling lookup');
    const installed = await resourcesIn(cluster, 'values-production.yaml', {
      ...values,
      'secrets.inspect': false,
    });
    // As without a cluster to query.
    expect(rolled(await resourcesIn({}, 'values-production.yaml', values), installed)).toEqual([]);
  });

  it('of a trial is possible without the right to read Secrets: secrets.inspect=false and trial.secret', async () => {
    const cluster = { 'secrets/own': forbidden, 'secrets/trial-trial': forbidden };
    const install = (values: object) => resourcesIn(cluster, 'values-trial.yaml', values);
    await expect(install({})).rejects.toThrow('error calling lookup');
    const installed = await install({ 'secrets.inspect': false, 'trial.secret': 'own' });
    expect(installed.map(({ metadata }) => metadata.name)).toContain('trial-gateway');
    await expect(install({ 'secrets.inspect': false })).rejects.toThrow(
      '- trial.secret is missing, but secrets.inspect is false: the next upgrade could not keep what this one generates. Make a Secret with the keys secret-key, admin-token and issuer-clients.json, and name it here',
    );
  });
});

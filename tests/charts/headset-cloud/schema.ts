import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigSpec } from '@headset-cloud/runtime/config.ts';
import { chartFolder } from './chart.ts';
import { annotations, labels, peers, tolerations } from './kubernetes-schema.ts';
import { addressOrName, cidr, list, object, type Schema, someCidr, when } from './schema-parts.ts';
import { chartSettings, commonSettings, ownSettings, settingSchema } from './settings.ts';

export const schemaFile = join(chartFolder, 'values.schema.json');

const text: Schema = { type: 'string' };
const bool: Schema = { type: 'boolean' };
const count = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });
/** Empty, or of the form; the chart reports a missing value, with the fix. */
const optional = (pattern: string): Schema => ({ type: 'string', pattern: `^(${pattern})?$` });

/** The same, and not empty. */
const given = (of: Schema): Schema => ({ ...of, minLength: 1 });

const port = count(1, 65_535);
const portText = '([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';
const label = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
/** Name of a Kubernetes resource. */
const name: Schema = { ...optional(subdomain), maxLength: 253 };
/** A text. The chart checks its format and explains an error (files/forms.yaml). */
const checked: Schema = { ...text, maxLength: 253 };
/** Scheme, host and port. The chart rejects user and password in it, and names the values to use instead. */
const origin = `https?://([^\\s/?#"\\\\]*@)?([^\\s/?#@:"\\\\]+|\\[[0-9a-fA-F:.]+\\])(:${portText})?`;
const url = optional(`${origin}([/?][^\\s"\\\\]*)?`);
const cpu: Schema = { type: 'string', pattern: '^(\\d+m|\\d+(\\.\\d+)?)$' };
const memory: Schema = { type: 'string', pattern: '^[1-9]\\d*(Ki|Mi|Gi|k|M|G)$' };
const image = object({ repository: checked, digest: checked, tag: checked });
const withPull = (it: Schema): Schema =>
  object({
    ...(it['properties'] as Record<string, Schema>),
    pullPolicy: { enum: ['IfNotPresent', 'Always', 'Never'] },
  });
/** A name, or Kubernetes' form. */
const pullSecret: Schema = {
  ...given(name),
  ...object({ name: given(name) }),
  type: ['string', 'object'],
};
const reference = object({ name, key: { type: 'string', pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*$' } });
const resources: Schema = object({
  requests: object({ cpu, memory }),
  // The heap is a part of the memory limit, so the limit is required.
  limits: object({ memory }, { cpu }),
});
/** Defined once in the file, which has nine lists of peers. */
const peerList: Schema = { $ref: '#/definitions/peers' };
const target = object({ to: peerList, ports: { ...list(port), minItems: 1 } });
/** At least three characters, unless empty. */
const bucket: Schema = {
  ...checked,
  maxLength: 63,
  ...when({ minLength: 1 }, { minLength: 3 }),
};
const way = object({ host: checked, tlsSecret: name });

const settings = (spec: ConfigSpec): Schema =>
  object(
    {},
    Object.fromEntries(
      Object.entries(spec)
        .filter(([key]) => !chartSettings.has(key))
        .map(([key, k]) => [key, settingSchema(k)]),
    ),
  );

/** Components with work per call. The others have work per event, and partitions distribute events. */
const scaled = new Set(['gateway', 'devices', 'transactions']);

const component = (id: string): Schema =>
  object({
    replicas: count(1, 100),
    ...(scaled.has(id) ? { maxReplicas: count(0, 100) } : {}),
    resources,
    ...(id === 'updates' ? { tempSize: memory, serviceAccountAnnotations: annotations } : {}),
    settings: settings(ownSettings[id] ?? {}),
  });

const values: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  definitions: { peers },
  $comment: 'Written by `make generate` (tests/charts/headset-cloud/schema.ts): do not edit.',
  ...object({
    image: withPull(image),
    imagePullSecrets: list(pullSecret),
    secrets: object({
      mongodbUri: reference,
      secretKey: reference,
      secretKeyForAll: bool,
      secretKeyOthers: reference,
      adminToken: reference,
      adminTokenBefore: reference,
      metricsToken: reference,
      s3Credentials: reference,
      egressProxyCredentials: reference,
      kafkaPassword: reference,
      inspect: bool,
      revision: text,
    }),
    mongodb: object({ databasePrefix: { type: 'string', pattern: '^[a-z0-9_-]{1,30}$' } }),
    kafka: object({
      brokers: text,
      partitions: count(1, 1000),
      replicationFactor: count(1, 9),
      prefix: optional('[A-Za-z0-9._-]{1,64}'),
      tls: bool,
      sasl: object({
        mechanism: { enum: ['none', 'plain', 'scram-sha-256', 'scram-sha-512'] },
        username: text,
      }),
    }),
    s3: object({
      bucket,
      region: { type: 'string', pattern: '^[A-Za-z0-9-]+$' },
      endpoint: optional(`${origin}/?`),
      publicEndpoint: optional(`${origin}/?`),
    }),
    oidc: object({ issuer: url, audience: text, jwksUri: url }),
    callbacks: object({ allowAddresses: list(someCidr) }),
    egressProxy: object({
      url: optional(`${origin}/?`),
      except: list({
        type: 'string',
        pattern: '^[^,\\s]+$',
        ...when({ pattern: '/' }, cidr, addressOrName),
      }),
    }),
    rpcTls: object({
      mode: { enum: ['required', 'permissive', 'mesh'] },
      domain: { ...checked, minLength: 1, maxLength: 202 },
      issuer: object({ name, kind: { enum: ['Issuer', 'ClusterIssuer'] } }),
      secretPrefix: { ...name, maxLength: 202 },
    }),
    caBundleConfigMap: name,
    tracesEndpoint: url,
    settings: settings(commonSettings),
    components: object(Object.fromEntries(Object.keys(ownSettings).map((id) => [id, component(id)]))),
    site: object({ enabled: bool, image, replicas: count(1, 100), resources }),
    // The pause before the stop, STOP_DELAY_MS and the final abort take 15 s of it.
    terminationGracePeriodSeconds: count(20, 600),
    scheduling: object({
      nodeSelector: labels,
      tolerations,
      priorityClassName: name,
    }),
    expose: object({
      kind: { enum: ['none', 'ingress', 'gateway'] },
      className: name,
      annotations,
      gateway: object({ name, namespace: { ...optional(label), maxLength: 63 }, sectionName: name }),
      api: way,
      site: way,
      sora: way,
    }),
    headsets: object({
      type: { enum: ['LoadBalancer', 'NodePort', 'ClusterIP'] },
      port,
      annotations,
      sourceRanges: list(cidr),
      tls: object({
        secret: name,
        issuer: object({ name, kind: { enum: ['Issuer', 'ClusterIssuer'] } }),
        hosts: list(given(checked)),
      }),
    }),
    networkPolicy: object({
      enabled: bool,
      dns: peerList,
      dnsPorts: { ...list(port), minItems: 1 },
      mongodb: target,
      kafka: target,
      s3: target,
      issuer: target,
      egressProxy: peerList,
      traces: target,
      scrapes: peerList,
      ingress: peerList,
    }),
    monitoring: object({
      serviceMonitor: bool,
      alerts: bool,
      dashboard: bool,
      labels,
      runbooks: { type: 'string', pattern: 'ALERT' },
    }),
    trial: object({ enabled: bool, stores: bool, issuer: bool, development: bool, secret: name, image }),
  }),
  // Helm's own value, for charts that use this chart.
  patternProperties: { '^global$': { type: 'object' } },
};

/** values.schema.json: the valid values; settings have the form of the services' specifications. */
export const schemaDocument = (): string => `${JSON.stringify(values, undefined, 2)}\n`;

if (import.meta.main) writeFileSync(schemaFile, schemaDocument());

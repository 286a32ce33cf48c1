import type { Rendering } from './chart.ts';

const production = ['values-production.yaml'];

/** All options that can be enabled together, in addition to the production example. */
export const everything = {
  imagePullSecrets: ['registry'],
  secrets: {
    revision: '2026-11-24',
    adminTokenBefore: { name: 'headset-cloud' },
    kafkaPassword: { name: 'headset-cloud' },
    metricsToken: { name: 'headset-cloud' },
    secretKeyOthers: { name: 'headset-cloud' },
  },
  kafka: { prefix: 'blue.', tls: true, sasl: { mechanism: 'scram-sha-512', username: 'headset-cloud' } },
  s3: { endpoint: 'https://s3.example.com', publicEndpoint: 'https://files.example.com' },
  oidc: { jwksUri: 'https://id.example.com/jwks' },
  caBundleConfigMap: 'authorities',
  tracesEndpoint: 'http://collector.monitoring:4318',
  settings: { LOG_LEVEL: 'debug' },
  components: {
    updates: {
      serviceAccountAnnotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/updates' },
      tempSize: '5Gi',
      settings: { UPDATES_MAX_BYTES: 2_147_483_648 },
    },
    notifier: { settings: { NOTIFIER_MAX_AGE_HOURS: 48 } },
  },
  scheduling: {
    nodeSelector: { pool: 'platform' },
    tolerations: [{ key: 'platform', operator: 'Exists' }],
    priorityClassName: 'platform',
  },
  expose: { annotations: { example: 'true' } },
  headsets: {
    annotations: { example: 'true' },
    sourceRanges: ['203.0.113.0/24'],
    tls: { issuer: { name: 'public' }, hosts: ['headsets.example.com'] },
  },
  monitoring: { labels: { release: 'prometheus' } },
};

/** The installations that every check looks at. */
export const scenarios: Readonly<Record<string, Rendering>> = {
  production: { files: production },
  'production, everything on': { files: production, values: everything },
  'production with certificates of one’s own': {
    files: production,
    values: {
      rpcTls: { mode: 'permissive', issuer: { name: '' }, secretPrefix: 'rpc' },
      headsets: { tls: { secret: 'headsets-tls' } },
    },
  },
  'production in a service mesh': {
    files: production,
    values: { rpcTls: { mode: 'mesh', issuer: { name: '' } } },
  },
  'production behind a Gateway': {
    files: production,
    values: {
      expose: { kind: 'gateway', gateway: { name: 'public', namespace: 'gateways', sectionName: 'https' } },
    },
  },
  'production behind an egress proxy': {
    files: production,
    values: {
      secrets: { egressProxyCredentials: { name: 'headset-cloud' } },
      egressProxy: {
        url: 'http://proxy.example.com:3128',
        except: ['id.example.internal', '10.30.0.0/16'],
      },
      networkPolicy: {
        egressProxy: [{ ipBlock: { cidr: '10.20.9.0/24' } }],
        issuer: { to: [{ ipBlock: { cidr: '10.20.8.0/24' } }] },
      },
    },
  },
  trial: { files: ['values-trial.yaml'] },
  'trial in development': { files: ['values-trial.yaml'], values: { trial: { development: true } } },
  'trial with stores from outside': {
    files: ['values-trial.yaml'],
    values: {
      trial: { stores: false },
      kafka: { brokers: '10.200.0.2:9092' },
      secrets: {
        mongodbUri: { name: 'stores' },
        secretKey: { name: 'stores' },
        adminToken: { name: 'stores' },
      },
    },
  },
};

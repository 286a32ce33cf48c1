import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { prepareConfig } from '@headset-cloud/prepare/config.ts';
import type { ConfigSpec } from '@headset-cloud/runtime/config.ts';
import { issuerAudience } from '@headset-cloud/standalone/builtin-issuer.ts';
import { standaloneConfig } from '@headset-cloud/standalone/config.ts';
import { describeWith } from '../../support/skip.ts';
import { componentOf, type Resource, resources } from './chart.ts';
import { everything, scenarios } from './scenarios.ts';
import { chartSettings, commonSettings, foreignSettings, ownSettings, settingsOf } from './settings.ts';

interface Given {
  readonly name: string;
  readonly value?: string;
}

/** A setting given as KEY_FILE is KEY. */
const settingOf = (name: string, spec: object) =>
  name.endsWith('_FILE') && name.slice(0, -5) in spec ? name.slice(0, -5) : name;

const given = (deployment: Resource): Given[] => deployment['spec'].template.spec.containers[0].env;

describeWith(['helm'], 'the settings that the chart gives', () => {
  const components = Object.keys(scenarios).flatMap((scenario) =>
    Object.keys(ownSettings).map((component) => [scenario, component] as const),
  );
  let cases: (readonly [scenario: string, component: string, env: Given[]])[];
  beforeAll(() => {
    cases = Object.keys(scenarios).flatMap((scenario) =>
      resources(scenarios[scenario])
        .filter((r) => r.kind === 'Deployment' && componentOf(r.metadata.labels) in ownSettings)
        .map((r) => [scenario, componentOf(r.metadata.labels), given(r)] as const),
    );
  });
  const envOf = (scenario: string, component: string): Given[] => {
    const found = cases.find((one) => one[0] === scenario && one[1] === component);
    if (!found) throw new Error(`${scenario}: there is no Deployment of ${component}`);
    return found[2];
  };

  it.each(Object.keys(scenarios))('are checked for all nine processes: %s', (scenario) => {
    const found = cases.filter((one) => one[0] === scenario).map(([, component]) => component);
    expect(found.sort()).toEqual(Object.keys(ownSettings).sort());
  });

  it.each(components)('%s: %s knows each of them', (scenario, component) => {
    const env = envOf(scenario, component);
    const spec = settingsOf(component);
    const unknown = env
      .map(({ name }) => name)
      .filter((name) => !foreignSettings.has(name) && !(settingOf(name, spec) in spec));
    expect(unknown).toEqual([]);
  });

  it.each(components)('%s: %s gets each that it requires', (scenario, component) => {
    const env = envOf(scenario, component);
    const names = new Set(env.map(({ name }) => settingOf(name, settingsOf(component))));
    const missing = Object.entries(settingsOf(component))
      .filter(([key, spec]) => spec.required && spec.default === undefined && !names.has(key))
      .map(([key]) => key);
    expect(missing).toEqual([]);
  });

  it.each(components)('%s: each value of %s passes the setting’s own check', (scenario, component) => {
    const env = envOf(scenario, component);
    const spec = settingsOf(component);
    for (const { name, value } of env) {
      const key = spec[name];
      if (!key || value === undefined) continue;
      // The kubelet inserts the pod's address.
      const read = () => key.parse(value.replace('$(POD_IP)', '10.244.0.17'));
      expect(read).not.toThrow();
      if (key.productionMin !== undefined) expect(Number(value)).toBeGreaterThanOrEqual(key.productionMin);
    }
  });

  it.each(components)('%s: no secret of %s stands in the manifest', (scenario, component) => {
    const env = envOf(scenario, component);
    const spec = settingsOf(component);
    expect(env.filter(({ name }) => spec[name]?.secret)).toEqual([]);
  });

  it.each(components)(
    '%s: %s has no duplicate setting, and no port setting with a loopback address',
    (scenario, component) => {
      const env = envOf(scenario, component);
      const names = env.map(({ name }) => name);
      expect(names.length).toBe(new Set(names).size);
      const listens = Object.keys(settingsOf(component)).filter(
        (key) => key.endsWith('_LISTEN') && key !== 'UPDATES_LISTEN',
      );
      expect(listens.filter((key) => !names.includes(key))).toEqual([]);
    },
  );

  it('the Job has only known settings, and all required ones', () => {
    const [job] = resources(scenarios['production, everything on']).filter((r) => r.kind === 'Job');
    const names: string[] = job?.['spec'].template.spec.containers[0].env.map((e: Given) => e.name);
    const settings = names.map((name) => settingOf(name, prepareConfig));
    expect(settings.filter((name) => !foreignSettings.has(name) && !(name in prepareConfig))).toEqual([]);
    const required = Object.entries<ConfigSpec[string]>(prepareConfig).filter(
      ([, key]) => key.required && key.default === undefined,
    );
    expect(required.map(([key]) => key).filter((key) => !settings.includes(key))).toEqual([]);
  });

  it('the trial issuer has only its own settings, and its tokens’ issuer is the gateway’s', () => {
    const all = resources(scenarios['trial']);
    const issuer = all.find(
      (r) => r.kind === 'Deployment' && componentOf(r.metadata.labels) === 'trial-issuer',
    );
    const { containers } = (issuer as Resource)['spec'].template.spec;
    const env: Given[] = containers[0].env;
    const textOf = (name: string) => env.find((e) => e.name === name)?.value;
    const others = env.filter(({ name }) => !(settingOf(name, standaloneConfig) in standaloneConfig));
    // In production the issuer does not start.
    expect(others).toEqual([{ name: 'NODE_ENV', value: 'development' }]);
    // Its name is that of its Service, and it listens where probes and clients reach it.
    const service = all.find(
      (r) => r.kind === 'Service' && componentOf(r.metadata.labels) === 'trial-issuer',
    ) as Resource;
    const publicUrl = textOf('ISSUER_PUBLIC_URL');
    expect(publicUrl).toBe(`http://${service.metadata.name}:${service['spec'].ports[0].port}`);
    const portOf = (name: string) =>
      containers[0].ports.find((port: { name: string }) => port.name === name).containerPort;
    expect(textOf('ISSUER_LISTEN')).toBe(`0.0.0.0:${portOf('store')}`);
    expect(textOf('ADMIN_LISTEN')).toBe(`0.0.0.0:${portOf('admin')}`);
    for (const [probe, path] of [
      ['startupProbe', '/livez'],
      ['livenessProbe', '/livez'],
      ['readinessProbe', '/readyz'],
    ] as const)
      expect(containers[0][probe].httpGet).toEqual({ path, port: 'admin' });
    // Beyond loopback the admin port requires a token.
    expect(textOf('ADMIN_TOKEN_FILE')).toMatch(/^\/etc\/headset-cloud\/secrets\//);
    const gateway = envOf('trial', 'gateway');
    expect(gateway).toContainEqual({ name: 'OIDC_ISSUER', value: publicUrl });
    expect(gateway).toContainEqual({ name: 'OIDC_AUDIENCE', value: issuerAudience });
  });

  it("the operators' pod has the listener of every process for ctl status", () => {
    const operator = resources(scenarios['production']).find((r) => r.kind === 'CronJob') as Resource;
    const env: Given[] = operator['spec'].jobTemplate.spec.template.spec.containers[0].env;
    for (const component of Object.keys(ownSettings)) {
      const name = `${component.toUpperCase().replace('-', '_')}_ADMIN`;
      // A ready pod first; without one, a pod that is not ready.
      const listeners = [`http://trial-${component}:9100`, `http://trial-${component}-admin:9100`];
      expect(env).toContainEqual({ name, value: listeners.join(',') });
    }
  });

  it("helm test's pod gets each setting that its program reads", () => {
    const [pod] = resources(scenarios['trial']).filter((r) => r.kind === 'Pod');
    const [{ args, env }] = (pod as Resource)['spec'].containers;
    const source = readFileSync(join(root, args[0]), 'utf8');
    const read = [...source.matchAll(/setting\('([A-Z_]+)'\)/g)].map((match) => match[1]);
    const names = env.map((e: Given) => e.name);
    expect(read.length).toBeGreaterThan(4);
    expect(read.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('the values cannot override settings of the chart', () => {
    for (const [, , env] of cases) {
      const extra = new Set([
        ...Object.keys(everything.settings),
        ...Object.values(everything.components).flatMap(({ settings }) => Object.keys(settings)),
      ]);
      const changeable = env
        .map(({ name }) => (chartSettings.has(name) ? name : name.replace(/_FILE$/, '')))
        .filter(
          (name) =>
            !chartSettings.has(name) && !foreignSettings.has(name) && !foreignSettings.has(`${name}_FILE`),
        );
      expect(changeable.filter((name) => !extra.has(name))).toEqual([]);
    }
  });

  it('settings of the values reach their processes as text, large numbers too', () => {
    const of = (component: string) =>
      cases.find(([scenario, name]) => scenario.endsWith('everything on') && name === component)?.[2];
    expect(of('updates')).toContainEqual({ name: 'UPDATES_MAX_BYTES', value: '2147483648' });
    expect(of('notifier')).toContainEqual({ name: 'NOTIFIER_MAX_AGE_HOURS', value: '48' });
    for (const component of Object.keys(ownSettings)) {
      expect(of(component)).toContainEqual({ name: 'LOG_LEVEL', value: 'debug' });
    }
  });

  it('components that use Kafka get its TLS and credentials, and no other component does', () => {
    const all = cases.filter(([scenario]) => scenario.endsWith('everything on'));
    const having = (name: string, value: string) =>
      all.filter(([, , env]) => env.some((e) => e.name === name && e.value === value)).map(([, c]) => c);
    const stores = Object.keys(ownSettings).filter((name) => name !== 'gateway');
    const [job] = resources(scenarios['production, everything on']).filter((r) => r.kind === 'Job');
    const password = '/etc/headset-cloud/secrets/KAFKA_SASL_PASSWORD';
    for (const [name, value] of Object.entries({
      KAFKA_TLS: 'on',
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'headset-cloud',
      KAFKA_SASL_PASSWORD_FILE: password,
    })) {
      expect(having(name, value).sort()).toEqual(stores.sort());
      expect(job?.['spec'].template.spec.containers[0].env).toContainEqual({ name, value });
    }
  });

  it('only components with outgoing calls get the egress proxy, with its exceptions and credentials', () => {
    const proxied = cases.filter(([scenario]) => scenario.endsWith('egress proxy'));
    const having = (name: string) =>
      proxied.filter(([, , env]) => env.some((e) => e.name === name)).map(([, component]) => component);
    const callers = ['communication', 'gateway', 'notifier', 'updates'];
    for (const name of ['EGRESS_PROXY', 'EGRESS_NO_PROXY', 'EGRESS_PROXY_CREDENTIALS_FILE'])
      expect(having(name).sort()).toEqual(callers);
    const notifier = resources(scenarios['production behind an egress proxy']).find(
      (r) => r.kind === 'Deployment' && componentOf(r.metadata.labels) === 'notifier',
    ) as Resource;
    const items = [{ key: 'egress-proxy-credentials', path: 'EGRESS_PROXY_CREDENTIALS' }];
    expect(notifier['spec'].template.spec.volumes[0].projected.sources).toContainEqual({
      secret: { name: 'headset-cloud', items },
    });
    const [, , env] = proxied.find(([, component]) => component === 'notifier') as (typeof cases)[number];
    expect(env).toContainEqual({ name: 'EGRESS_PROXY', value: 'http://proxy.example.com:3128' });
    expect(env).toContainEqual({ name: 'EGRESS_NO_PROXY', value: 'id.example.internal,10.30.0.0/16' });
  });

  it('networks that a trial’s callbacks may reach can be registered as well', () => {
    const value = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
    const allowed = cases.filter(([, , env]) => env.some(({ name }) => name === 'NOTIFIER_ALLOW_ADDRESSES'));
    expect(allowed.map(([scenario, component]) => `${scenario} ${component}`)).toEqual(
      expect.arrayContaining(['trial devices', 'trial notifier']),
    );
    expect(allowed.every(([, , env]) => env.some((one) => one.value === value))).toBe(true);
    expect(allowed.filter(([scenario]) => scenario.startsWith('production'))).toEqual([]);
  });

  it('with an egress proxy, a trial’s issuer and the networks of its callbacks are reached directly', () => {
    const trial = resources({
      ...scenarios['trial'],
      values: { egressProxy: { url: 'http://proxy.example.com:3128' } },
    });
    const gateway = trial.find(
      (r) => r.kind === 'Deployment' && componentOf(r.metadata.labels) === 'gateway',
    );
    const value = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,trial-trial-issuer';
    expect(given(gateway as Resource)).toContainEqual({ name: 'EGRESS_NO_PROXY', value });
  });

  it('every process has the common settings', () => {
    for (const component of Object.keys(ownSettings)) {
      const spec = settingsOf(component);
      expect(Object.keys(commonSettings).filter((key) => !(key in spec))).toEqual([]);
    }
  });
});

import { missingTools, render } from '../headset-cloud/chart.ts';
import { scenarios } from '../headset-cloud/scenarios.ts';
import { type Cluster, describeOnCluster, givenCluster } from './cluster.ts';
import { applyDefinitions } from './crds.ts';
import { makeNamespace, type Namespace } from './namespace.ts';

describeOnCluster('the API server, which knows foreign kinds too (strict dry run)', () => {
  // Their definitions come from Go modules.
  const noGo = missingTools('go');
  let cluster: Cluster;
  let namespace: Namespace | undefined;
  let removeDefinitions: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    cluster = givenCluster();
    if (!noGo) removeDefinitions = await applyDefinitions(cluster);
    namespace = await makeNamespace(cluster);
  });
  afterAll(async () => {
    await namespace?.remove();
    await removeDefinitions?.();
  });

  /** What the API server says to resources; nothing: it would take all of them as they are. */
  const refusal = async (manifests: string): Promise<string> => {
    const args = ['create', '--dry-run=server', '--validate=strict', '--warnings-as-errors'];
    return (namespace as Namespace).kubectl([...args, '--output', 'name', '--filename', '-'], manifests).then(
      () => '',
      (error: Error) => error.message,
    );
  };

  (noGo ? it.skip : it).each(Object.keys(scenarios))('takes every resource: %s', async (scenario) => {
    const of = scenarios[scenario];
    expect(await refusal(render({ ...of, namespace: namespace?.name as string }))).toBe('');
  });

  it('would refuse an unknown field, and warn of a pod that Pod Security refuses', async () => {
    const manifests = render({ ...scenarios['production'], namespace: namespace?.name as string });
    expect(await refusal(manifests.replace('minReadySeconds', 'minReadyMinutes'))).toContain(
      'unknown field "spec.minReadyMinutes"',
    );
    expect(await refusal(manifests.replace('allowPrivilegeEscalation: false', ''))).toContain(
      'would violate PodSecurity "restricted:latest"',
    );
  });
});

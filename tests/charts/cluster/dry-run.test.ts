import { parse } from 'yaml';
import { itUnless } from '../../support/skip.ts';
import { missingTools } from '../../support/tools.ts';
import { type Resource, render } from '../headset-cloud/chart.ts';
import { scenarios } from '../headset-cloud/scenarios.ts';
import { type Cluster, describeOnCluster, givenCluster } from './cluster.ts';
import { applyDefinitions } from './crds.ts';
import { makeNamespace, type Namespace } from './namespace.ts';

describeOnCluster('the API server with custom resource definitions (strict dry run)', () => {
  // Go modules contain their definitions.
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

  /** The rejection of resources by the API server; empty: accepted unchanged. */
  const refusal = async (manifests: string): Promise<string> => {
    const args = ['create', '--dry-run=server', '--validate=strict', '--warnings-as-errors'];
    return (namespace as Namespace).kubectl([...args, '--output', 'name', '--filename', '-'], manifests).then(
      () => '',
      (error: Error) => error.message,
    );
  };

  /**
   * Creates the service accounts of bare pods, and returns the manifests without them: the API server requires them
   * before it accepts such a pod, and a dry run creates none.
   */
  const withAccounts = async (manifests: string): Promise<string> => {
    const documents = manifests.split(/^---$/m);
    const read = documents.map((text) => parse(text) as Resource | null);
    const ofPods = new Set(
      read.flatMap((one) => (one?.kind === 'Pod' ? [one['spec'].serviceAccountName] : [])),
    );
    const isNeeded = (one: Resource | null) =>
      one?.kind === 'ServiceAccount' && ofPods.has(one.metadata.name);
    const accounts = documents.filter((_, n) => isNeeded(read[n] ?? null)).join('---');
    const args = ['apply', '--server-side', '--validate=strict', '--warnings-as-errors', '--filename', '-'];
    if (accounts) await (namespace as Namespace).kubectl(args, accounts);
    return documents.filter((_, n) => !isNeeded(read[n] ?? null)).join('---');
  };

  itUnless(noGo).each(Object.keys(scenarios))('takes every resource: %s', async (scenario) => {
    const of = scenarios[scenario];
    const manifests = render({ ...of, namespace: namespace?.name as string });
    // A pod's priority class must exist as well: use a class of every cluster.
    const known = manifests.replaceAll(
      'priorityClassName: "platform"',
      'priorityClassName: system-cluster-critical',
    );
    expect(await refusal(await withAccounts(known))).toBe('');
  });

  it('would reject an unknown field, and warn about a pod that Pod Security rejects', async () => {
    const manifests = render({ ...scenarios['production'], namespace: namespace?.name as string });
    expect(await refusal(manifests.replace('minReadySeconds', 'minReadyMinutes'))).toContain(
      'unknown field "spec.minReadyMinutes"',
    );
    expect(await refusal(manifests.replace('allowPrivilegeEscalation: false', ''))).toContain(
      'would violate PodSecurity "restricted:latest"',
    );
  });
});

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { parseAllDocuments } from 'yaml';
import { describeWith, type Resource, resources } from './chart.ts';
import { scenarios } from './scenarios.ts';

/** The manual's release is headset, in the namespace headset. */
const manual = readFileSync(join(root, 'docs/operations.md'), 'utf8');
const where = { release: 'headset', namespace: 'headset' };

describeWith(['helm'], 'what the manual does with the resources of the chart', () => {
  const all = resources({ ...scenarios['production'], ...where });

  it('its command makes of the Job of prepare one that raises, of another name', () => {
    const [block = ''] =
      /helm template headset charts\/headset-cloud.*?(?=\s*\|\s*kubectl)/s.exec(manual) ?? [];
    const command = block.replace('my-values.yaml', 'charts/headset-cloud/values-production.yaml');
    const text = execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' });
    const jobs = parseAllDocuments(text)
      .map((document) => document.toJS() as Resource | null)
      .filter((resource) => resource?.kind === 'Job');
    expect(jobs.map((job) => job?.metadata.name)).toEqual(['headset-raise']);
    expect(jobs[0]?.['spec'].template.spec.containers[0].args).toEqual([
      'services/prepare/src/raise-main.ts',
    ]);
  });

  it('the CronJobs and Deployments that it names are there', () => {
    const named = [...manual.matchAll(/\b(cronjob|deployment)[/ ](headset-[a-z-]+)/g)];
    expect(named.length).toBeGreaterThan(0);
    const known = all.map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`);
    expect(known).toEqual(expect.arrayContaining(named.map(([, kind, name]) => `${kind} ${name}`)));
  });

  it('its selector of Deployments takes those of one release', () => {
    const [, label = '', value] = /scale deployment -l ([\w./]+)=(\w+) --replicas=0/.exec(manual) ?? [];
    const deployments = (list: readonly Resource[]) => list.filter(({ kind }) => kind === 'Deployment');
    expect(deployments(all).filter(({ metadata }) => metadata.labels?.[label] !== value)).toEqual([]);
    const other = resources({ ...scenarios['production'], ...where, release: 'headset-two' });
    expect(deployments(other).filter(({ metadata }) => metadata.labels?.[label] === value)).toEqual([]);
  });
});

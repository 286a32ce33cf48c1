import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { parseAllDocuments } from 'yaml';
import { manual } from '../../support/manual.ts';
import { describeWith } from '../../support/skip.ts';
import { chartFolder, type Resource, resources } from './chart.ts';
import { scenarios } from './scenarios.ts';

const notes = readFileSync(join(chartFolder, 'templates/NOTES.txt'), 'utf8');

/** The manual's release is headset, in the namespace headset. */
const where = { release: 'headset', namespace: 'headset' };

describeWith(['helm'], 'commands of the manual for the resources of the chart', () => {
  const all = () => resources({ ...scenarios['production'], ...where });

  it('its command creates a Job for raise, with another name, from the Job of prepare', () => {
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

  it('the CronJobs and Deployments that it names exist', () => {
    const named = [...manual.matchAll(/\b(cronjob|deployment)[/ ](headset-[a-z-]+)/g)];
    expect(named.length).toBeGreaterThan(0);
    const known = all().map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`);
    expect(known).toEqual(expect.arrayContaining(named.map(([, kind, name]) => `${kind} ${name}`)));
  });

  it('its selector of Deployments matches the Deployments of one release', () => {
    const [, label = '', value] = /scale deployment -l ([\w./]+)=(\w+) --replicas=0/.exec(manual) ?? [];
    const deployments = (list: readonly Resource[]) => list.filter(({ kind }) => kind === 'Deployment');
    expect(deployments(all()).filter(({ metadata }) => metadata.labels?.[label] !== value)).toEqual([]);
    const other = resources({ ...scenarios['production'], ...where, release: 'headset-two' });
    expect(deployments(other).filter(({ metadata }) => metadata.labels?.[label] === value)).toEqual([]);
  });
});

describe('commands of the manual that fail in their simple form', () => {
  it('a rollback names the last good revision, which the history shows', () => {
    const lines = manual.split('\n').filter((line) => line.includes('helm rollback headset'));
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => /helm rollback headset(?! REVISION)/.test(line))).toEqual([]);
    expect(manual.match(/helm rollback headset/g)?.length).toBe(
      manual.match(/helm history headset/g)?.length,
    );
  });

  it('the operators’ pod is named after the release and runs before a command uses it, in the NOTES as well', () => {
    const inNotes = notes.replaceAll(/\{\{ \.Release\.Name(space)? \}\}/g, 'headset');
    const steps = (text: string) =>
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => /^kubectl -n headset (create|wait|exec -it) .*headset-ctl/.test(line));
    expect(steps(inNotes).map((line) => line.split(' ')[3])).toEqual(['create', 'wait', 'exec']);
    expect(steps(manual)).toEqual(expect.arrayContaining(steps(inNotes)));
    expect(`${manual}${notes}`).not.toMatch(/job[ /]ctl/);
  });

  it('manifests for use without Helm do not contain Helm tests', () => {
    const lines = manual.replaceAll('\\\n', '').split('\n');
    const applied = lines.filter((line) => /helm template (?!.*--show-only).*kubectl.* apply/.test(line));
    expect(applied.length).toBeGreaterThan(0);
    expect(applied.filter((line) => !line.includes('--skip-tests'))).toEqual([]);
  });
});

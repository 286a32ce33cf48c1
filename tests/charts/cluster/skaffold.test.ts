import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Backing, realStackMissing, startBacking } from '@headset-cloud/demo/stack/backing.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ensureBase, root } from '../../../charts/image/make.ts';
import { missingTools } from '../../support/tools.ts';
import { makeWorkingCopy, shareImageCache } from '../../support/working-copy.ts';
import { missingForImages } from '../image/staged.ts';
import { type Cluster, componentOf, describeAtLength, givenCluster, type Pod } from './cluster.ts';
import { type Docker, startDocker, whyNoDocker } from './docker.ts';
import { makeNamespace, type Namespace } from './namespace.ts';
import { applyStores, components, openListeners, releaseName, trialValues } from './platform.ts';

const missing = () => realStackMissing() ?? missingForImages() ?? whyNoDocker() ?? missingTools('skaffold');

describeAtLength(
  'Skaffold on a cluster',
  () => {
    let cluster: Cluster;
    let namespace: Namespace;
    let backing: Backing | undefined;
    let docker: Docker | undefined;
    let adminToken: string;
    const work = mkdtempSync(join(tmpdir(), 'headset-cloud-skaffold-'));
    // Skaffold works on a copy: a test changes nothing of the project.
    const project = join(work, 'project');
    const running = new Set<ChildProcess>();

    beforeAll(async () => {
      cluster = givenCluster();
      makeWorkingCopy(project);
      await ensureBase(join(root, '.cache/image'), () => {});
      shareImageCache(project);
      namespace = await makeNamespace(cluster);
      backing = await startBacking(join(work, 'stores'), cluster.host);
      docker = await startDocker(join(work, 'docker'));
      ({ adminToken } = await applyStores(namespace, backing));
      const none = { repository: '', tag: '', digest: '', compressedBytes: 0 };
      // Skaffold names the images.
      const values = trialValues(namespace, backing, { platform: none, test: none }, 1);
      writeFileSync(join(work, 'values.yaml'), JSON.stringify(values));
      mkdirSync(join(work, 'skaffold'));
      writeFileSync(
        join(work, 'skaffold/config'),
        'global: {collect-metrics: false, survey: {disable-prompt: true}}\n',
      );
    }, 300_000);
    afterAll(async () => {
      for (const child of running) child.kill('SIGKILL');
      await namespace?.remove();
      await docker?.stop();
      await backing?.stop();
      rmSync(work, { recursive: true, force: true });
    });

    /** Skaffold on the copy, in the test's namespace, without the user's own settings. */
    function skaffold(command: 'run' | 'dev', ...args: string[]) {
      const own = [
        ...['--kube-context', cluster.context, '--namespace', namespace.name, '--interactive=false'],
        ...['--config', join(work, 'skaffold/config'), '--cache-file', join(work, 'skaffold/cache')],
      ];
      const child = spawn('skaffold', [command, ...own, ...args], {
        cwd: project,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          ...docker?.env,
          SKAFFOLD_UPDATE_CHECK: 'false',
          HEADSET_IMAGE_LOAD: process.env['TEST_KUBE_LOAD'],
          HEADSET_VALUES: relative(project, join(work, 'values.yaml')),
        },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (data: string) => {
          output += data;
        });
      running.add(child);
      const ended = once(child, 'exit').then(([code]) => {
        running.delete(child);
        return code as number | null;
      });
      return { child, ended, output: () => output };
    }

    it('`skaffold run` builds the images, loads them and installs a trial that works', async () => {
      const run = skaffold('run');
      expect({ code: await run.ended, output: run.output() }).toEqual({
        code: 0,
        output: expect.stringContaining('Deployments stabilized'),
      });
      const said = await namespace.helm(['test', releaseName, '--timeout', '4m', '--logs']);
      expect(said).toContain('The core loop works.');
    }, 600_000);

    it('`skaffold dev` runs a changed file in its pod; the root file system stays read-only', async () => {
      const dev = skaffold('dev', '--tail=false');
      const isWatching = () => {
        if (dev.child.exitCode !== null) throw new Error(dev.output());
        return dev.output().includes('Watching for changes...');
      };
      await waitFor('skaffold dev to watch', isWatching, { timeoutMs: 500_000, intervalMs: 100 });

      const before = await developed(namespace);
      expect(before.map(componentOf).sort()).toEqual([...components].sort());
      const { apiUrl } = await openListeners(namespace, adminToken);
      const answer = async () => {
        const answered = await fetch(`${apiUrl}/v0`).catch(() => undefined);
        return answered?.text();
      };
      expect(await answer()).toContain('There is no such path or method.');

      // Twice: the second change must be noticed in the file that the first one wrote.
      const file = join(project, 'gateway/src/app.ts');
      const source = readFileSync(file, 'utf8');
      for (const words of ['first', 'second']) {
        writeFileSync(file, source.replace('There is no such path or method.', `The ${words} change runs.`));
        await waitFor(
          `the ${words} change to run`,
          async () => (await answer())?.includes(`The ${words} change runs.`),
          { timeoutMs: 90_000, intervalMs: 50 },
        ).catch((error: Error) => {
          throw new Error(`${error.message}\n${dev.output().slice(-5000)}`);
        });
      }
      const state = (pods: readonly Pod[]) =>
        pods.map(({ metadata, status }) => `${metadata.uid} ${status.containerStatuses?.[0]?.restartCount}`);
      expect(state(await developed(namespace)).sort()).toEqual(state(before).sort());

      dev.child.kill('SIGINT');
      await dev.ended;
      expect(await namespace.helm(['list', '--short'])).toBe('');
    }, 700_000);
  },
  missing,
);

/** Pods of the platform's components; their sources can be changed. */
async function developed(namespace: Namespace): Promise<Pod[]> {
  return (await namespace.pods()).filter(
    (pod) => components.includes(componentOf(pod)) && !pod.metadata.deletionTimestamp,
  );
}

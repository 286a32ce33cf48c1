import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Cluster, Pod } from './cluster.ts';

/** A line of JSON that a container of the platform wrote. */
export interface LoggedLine {
  readonly pod: string;
  /** The container's image. */
  readonly image: string;
  readonly line: Readonly<Record<string, unknown>>;
}

/** Logs of pods, copied while the pods exist, because a pod's log is deleted with the pod. */
export interface PodLogs {
  /** Called with each state of a pod: stores the output of each container from its start. */
  note(pod: Pod): void;
  /**
   * Lines that may explain why a request failed at `atMs`: the lines with its id, and every warning and error of the
   * second before; ordered by time.
   */
  about(requestId: string, atMs: number): LoggedLine[];
  close(): void;
}

/** Follows the logs of all noted pods, into a file of `directory` for each container. */
export async function keepLogs({ context }: Cluster, namespace: string, directory: string): Promise<PodLogs> {
  mkdirSync(directory, { recursive: true });
  // One process for the streams of all pods, so that this process needs no certificate.
  const proxy = spawn('kubectl', ['--context', context, 'proxy', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const killWithParent = () => proxy.kill();
  process.once('exit', killWithParent);
  const port = await new Promise<number>((resolve, reject) => {
    proxy.once('exit', (code) => reject(new Error(`kubectl proxy ended with ${code}`)));
    createInterface(proxy.stdout).on('line', (line) => {
      const [, found] = line.match(/127\.0\.0\.1:(\d+)/) ?? [];
      if (found) resolve(Number(found));
    });
  });
  const images = new Map<string, string>();
  let closed = false;

  function follow(pod: string, containerId: string): void {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?follow=true`;
    const file = createWriteStream(join(directory, fileOf(pod, containerId)));
    const asked = request({ host: '127.0.0.1', port, path }, (answer) => answer.pipe(file));
    // The pod or the proxy has ended: keep the lines so far.
    asked.on('error', () => file.end());
    asked.end();
  }

  return {
    note({ metadata: { name }, spec, status }) {
      const [container] = status.containerStatuses ?? [];
      if (closed || !container?.containerID || !container.state.running) return;
      const key = fileOf(name, container.containerID);
      if (images.has(key)) return;
      images.set(key, spec.containers[0]?.image ?? '');
      follow(name, container.containerID);
    },
    about: (requestId, atMs) => linesAbout(directory, images, requestId, atMs),
    close() {
      closed = true;
      process.off('exit', killWithParent);
      proxy.kill();
    },
  };
}

/** `about` of PodLogs, from the files of a folder; `images`: the image of each file's container. */
export function linesAbout(
  directory: string,
  images: ReadonlyMap<string, string>,
  requestId: string,
  atMs: number,
): LoggedLine[] {
  const timeOf = ({ line }: LoggedLine) => Date.parse(String(line['time']));
  const near = (one: LoggedLine) => grave.has(one.line['level']) && Math.abs(atMs - 500 - timeOf(one)) <= 500;
  return readdirSync(directory)
    .flatMap((file) =>
      jsonLines(readFileSync(join(directory, file), 'utf8')).map((line) => ({
        ...{ pod: file.split('.')[0] ?? '', image: images.get(file) ?? '', line },
      })),
    )
    .filter((one) => one.line['requestId'] === requestId || near(one))
    .sort((a, b) => timeOf(a) - timeOf(b));
}

const grave: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);

/** Containers of one pod have different ids over time. */
const fileOf = (pod: string, containerId: string): string => `${pod}.${containerId.slice(-12)}.log`;

function jsonLines(text: string): Readonly<Record<string, unknown>>[] {
  return text.split('\n').flatMap((line) => {
    try {
      const parsed = JSON.parse(line);
      return typeof parsed === 'object' && parsed ? [parsed] : [];
    } catch {
      // The incomplete last line of a killed process, or a line in another format.
      return [];
    }
  });
}

import { readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second, whatever the kernel's own tick is. */
const ticksPerSecond = 100;

/** Memory and CPU of another process, from /proc. */
export interface ProcessFigures {
  /** Resident memory; bytes. */
  readonly rssBytes: number;
  /** User and system time since its start; seconds. */
  readonly cpuSeconds: number;
}

/** Reads memory and CPU time. Throws where there is no /proc (on systems other than Linux). */
export function processFigures(pid: number): ProcessFigures {
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  // The program's name, in brackets, may contain spaces; the fields after it do not.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    rssBytes: Number(rss) * 1024,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
  };
}

/**
 * Bytes that a process has had written to disks since its start, from /proc. Pages that the process changed several
 * times before the kernel wrote them count once. Undefined if the kernel does not report it.
 */
export function bytesWritten(pid: number): number | undefined {
  try {
    const found = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

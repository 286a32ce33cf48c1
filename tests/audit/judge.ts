/** Verdict on one installation, with what a reader has to know of it. */
export interface AuditVerdict {
  readonly verdict: 'passed' | 'failed' | 'skipped';
  readonly lines: readonly string[];
}

/** What `npm audit --json` says of a package. */
interface Vulnerability {
  readonly name: string;
  readonly severity: string;
  readonly range?: string;
  readonly via?: readonly (string | { readonly title?: string; readonly url?: string })[];
}

/** Those that fail; milder ones are told. */
const failing: ReadonlySet<string> = new Set(['high', 'critical']);

/** Judges what `npm audit --json` wrote. Anything that is not its report, as of a registry without it, skips. */
export function judgeAudit(output: string): AuditVerdict {
  let report: {
    vulnerabilities?: Record<string, Vulnerability>;
    message?: string;
    error?: { summary?: string };
  };
  try {
    report = JSON.parse(output);
  } catch {
    return { verdict: 'skipped', lines: ['npm audit gave no answer.'] };
  }
  if (!report.vulnerabilities) {
    const reason = report.error?.summary || report.message || 'no report';
    return { verdict: 'skipped', lines: [`The registry does not answer npm audit: ${reason}`] };
  }
  const found = Object.values(report.vulnerabilities);
  const lines = found.map(({ name, severity, range, via = [] }) => {
    const reasons = via.map((one) => (typeof one === 'string' ? one : `${one.title} (${one.url})`));
    return `${severity}: ${name} ${range ?? ''} ${reasons.join('; ')}`;
  });
  return { verdict: found.some(({ severity }) => failing.has(severity)) ? 'failed' : 'passed', lines };
}

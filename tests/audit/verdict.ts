/** Verdict on one installation, with details for the reader. */
export interface AuditVerdict {
  readonly verdict: 'passed' | 'failed' | 'skipped';
  readonly lines: readonly string[];
}

/** Entry of a package in `npm audit --json`. */
interface Vulnerability {
  readonly name: string;
  readonly severity: string;
  readonly range?: string;
  readonly via?: readonly (string | { readonly title?: string; readonly url?: string })[];
}

/** Severities that fail; milder ones are only listed. */
const failing: ReadonlySet<string> = new Set(['high', 'critical']);

/** Evaluates the output of `npm audit --json`. Output that is no report, as from a registry without audits, skips. */
export function verdictOf(output: string): AuditVerdict {
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

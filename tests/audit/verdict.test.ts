import { verdictOf } from './verdict.ts';

/** Verdicts on npm's reports in the format of npm 11. */

const report = (severity: string) =>
  JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: {
      a: {
        ...{ name: 'a', severity, range: '<2.0.0' },
        via: [{ title: 'Prototype pollution', url: 'https://github.com/advisories/GHSA-1' }],
      },
    },
  });

it('passes without known vulnerabilities, or with minor ones only', () => {
  expect(verdictOf('{"auditReportVersion":2,"vulnerabilities":{}}')).toEqual({
    verdict: 'passed',
    lines: [],
  });
  expect(verdictOf(report('moderate')).verdict).toBe('passed');
});

it.each(['high', 'critical'])('fails for %s, and names the vulnerability', (severity) => {
  expect(verdictOf(report(severity))).toEqual({
    verdict: 'failed',
    lines: [`${severity}: a <2.0.0 Prototype pollution (https://github.com/advisories/GHSA-1)`],
  });
});

it.each([
  ['a registry without it', '{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}', '405'],
  ['no network', '{"error":{"code":"ENOTFOUND","summary":"request failed"}}', 'request failed'],
  ['nothing at all', '', 'no answer'],
])('skips for %s, and says why', (_, output, reason) => {
  const { verdict, lines } = verdictOf(output);
  expect(verdict).toBe('skipped');
  expect(lines.join()).toContain(reason);
});

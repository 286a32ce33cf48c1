import { judgeAudit } from './judge.ts';

/** What is made of npm's reports; the forms are those of npm 11. */

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

it('passes where nothing is known, or nothing that is grave', () => {
  expect(judgeAudit('{"auditReportVersion":2,"vulnerabilities":{}}')).toEqual({
    verdict: 'passed',
    lines: [],
  });
  expect(judgeAudit(report('moderate')).verdict).toBe('passed');
});

it.each(['high', 'critical'])('fails for %s, and says what it is', (severity) => {
  expect(judgeAudit(report(severity))).toEqual({
    verdict: 'failed',
    lines: [`${severity}: a <2.0.0 Prototype pollution (https://github.com/advisories/GHSA-1)`],
  });
});

it.each([
  ['a registry without it', '{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}', '405'],
  ['no network', '{"error":{"code":"ENOTFOUND","summary":"request failed"}}', 'request failed'],
  ['nothing at all', '', 'no answer'],
])('skips for %s, and says why', (_, output, reason) => {
  const { verdict, lines } = judgeAudit(output);
  expect(verdict).toBe('skipped');
  expect(lines.join()).toContain(reason);
});

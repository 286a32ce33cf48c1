import { deadReferences, type Targets, targets, texts } from './references.ts';

/** Files about the references themselves. */
const exempt = /^tests\/architecture\/references|^LICENSE/;

describe('references in comments and pages can be opened', () => {
  const known = targets();
  const all = [...texts()].filter(([file]) => !exempt.test(file));

  it('finds rules, ADRs, sections and texts', () => {
    expect(known.rules.size).toBeGreaterThan(40);
    expect(known.adrs.size).toBeGreaterThan(15);
    expect(known.sections.size).toBeGreaterThan(10);
    expect(all.length).toBeGreaterThan(500);
  });

  it('no reference leads out of the repository or to a missing target', () => {
    const dead = all.flatMap(([file, text]) =>
      deadReferences(file, text, known).map((reference) => `${file}: ${reference}`),
    );
    expect(dead).toEqual([]);
  });

  const few: Targets = {
    rules: new Set(['A1', 'B2']),
    adrs: new Set(['0001']),
    sections: new Set(['API 3', 'Callbacks 4']),
  };
  it.each([
    ['an unknown rule', '/** Sent once (rule A2). */', 'rule A2'],
    ['one of several rules', '// (rules A1, B2 and B3)', 'rules A1, B2 and B3'],
    ['a rule over two lines', '/**\n * (rule\n * B7)\n */', 'rule B7'],
    ['an unknown ADR', 'see ADR 0002', 'ADR 0002'],
    ['an unknown section', '(specification API 4)', 'specification API 4'],
    ['a ruling', '(ruling A1)', 'ruling A1)'],
    ['a decision by number', '(decision 5)', 'decision 5'],
    ['a section without its document', '(specification section 5)', 'section 5'],
    ['a page that is elsewhere', 'callbacks-and-site.md', 'callbacks-and-site.md'],
  ])('%s is found', (_, text, reference) => {
    expect(deadReferences('a.ts', text, few)).toEqual([reference]);
  });

  it('a link to a missing file is found', () => {
    expect(
      deadReferences(
        'docs/a.md',
        '[a](operations/README.md#tasks) [b](operations/README.md#none) [c](nowhere.md)',
        few,
      ),
    ).toEqual(['operations/README.md#none', 'nowhere.md']);
  });

  it.each([
    '(rule A1)',
    '(rules A1 and B2, ADR 0001; specification API 3)',
    'RFC 9110 section 5.6.6',
    '(RFC 9110, section 14.2)',
    'specification Callbacks 4',
  ])('%p passes', (text) => {
    expect(deadReferences('a.ts', text, few)).toEqual([]);
  });
});

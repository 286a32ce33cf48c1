import { readFileSync } from 'node:fs';
import { readmeDocument, readmeFile } from './readme.ts';
import { schemaDocument, schemaFile } from './schema.ts';

describe("the chart's generated files are current (make generate)", () => {
  it('README.md, from the comments of values.yaml', () => {
    expect(readFileSync(readmeFile, 'utf8')).toBe(readmeDocument());
  });

  it("values.schema.json, from the services' specifications", () => {
    expect(readFileSync(schemaFile, 'utf8')).toBe(schemaDocument());
  });
});
